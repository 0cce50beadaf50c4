// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_TABLE_VIEW_HPP
#define MORTISE_OUTBOX_TABLE_VIEW_HPP

#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/message.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::outbox {

/// The kinds of rows in a message table.
enum class row_kind : std::uint8_t {
    waiting,  ///< To be sent, or already sent and not yet purged.
    later,    ///< Not yet due.
    parked,   ///< Rows that cannot be sent, or wait behind such a row.
};

/// A row of a message table, as it is stored.
class row_view {
public:
    row_view() = default;  // declared: no aggregate (docs/compilers.md, G3)

    row_kind kind = row_kind::waiting;
    std::int64_t row = 0;
    std::optional<std::uint32_t> shard;  ///< None for rows that are not yet due.
    outbox::message message;
    std::chrono::system_clock::time_point written;
    std::optional<std::chrono::system_clock::time_point> parked;
    /// Why it cannot be sent; none: it waits behind a row of its key.
    std::optional<std::string> reason;
    bool corrupt = false;    ///< Its headers cannot be read.
    bool discarded = false;  ///< An operator emptied it: the relay passes over it.
};

/// A shard, as the table knows it. The sink may know a newer mark.
class shard_view {
public:
    shard_view() = default;

    std::uint32_t shard = 0;
    mark last;                           ///< The mark that was acknowledged before the last purge.
    std::string sink;                    ///< The sink that acknowledged it; empty: none yet.
    bool newest = false;                 ///< New rows may go to this shard.
    bool done = false;                   ///< The shard is of an earlier layout, and empty.
    std::uint64_t rows = 0;              ///< Rows after the mark.
    std::optional<std::string> refused;  ///< Why relays refuse it, until an operator decides.
    std::optional<mark> refused_mark;    ///< The mark at the sink.
};

/// A message table.
class table_view {
public:
    table_view() = default;

    std::string id;
    std::vector<shard_view> shards;
    std::uint64_t waiting = 0;  ///< After the marks in the table; some may already be sent.
    std::uint64_t later = 0;
    std::uint64_t parked = 0;
    /// The age of the oldest waiting row.
    std::chrono::microseconds oldest{0};
};

}  // namespace mortise::outbox

#endif
