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

/// Which rows of a message table.
enum class row_kind : std::uint8_t {
    waiting,  ///< To be sent, or sent already and not purged.
    later,    ///< Not due yet.
    parked,   ///< They cannot be sent, or wait behind such a one.
};

/// A row of a message table, as it stands there.
class row_view {
public:
    row_view() = default;  // declared: no aggregate (docs/compilers.md, G3)

    row_kind kind = row_kind::waiting;
    std::int64_t row = 0;
    std::optional<std::uint32_t> shard;  ///< Not of those that are due later.
    message what;
    std::chrono::system_clock::time_point written;
    std::optional<std::chrono::system_clock::time_point> parked;
    /// Why it cannot be sent; none: it waits behind one of its key.
    std::optional<std::string> reason;
    bool corrupt = false;    ///< Its headers cannot be read.
    bool discarded = false;  ///< An operator has emptied it: it is passed over.
};

/// A shard of a message table, as the table knows it. What the sink knows is newer.
class shard_view {
public:
    shard_view() = default;

    std::uint32_t shard = 0;
    mark last;               ///< What was acknowledged when rows were last purged.
    std::string sink;        ///< By whom; empty: by nobody yet.
    bool newest = false;     ///< Rows that are appended now may come here.
    bool done = false;       ///< It is of before the number of shards changed, and empty.
    std::uint64_t rows = 0;  ///< After the mark.
    std::optional<std::string> refused;  ///< Why no relay goes on, until an operator decides.
    std::optional<mark> refused_mark;    ///< What the sink says.
};

/// A message table.
class table_view {
public:
    table_view() = default;

    std::string id;
    std::vector<shard_view> shards;
    std::uint64_t waiting = 0;  ///< After the marks of the table: some may be sent already.
    std::uint64_t later = 0;
    std::uint64_t parked = 0;
    /// How long ago the oldest of the waiting ones was written.
    std::chrono::microseconds oldest{0};
};

}  // namespace mortise::outbox

#endif
