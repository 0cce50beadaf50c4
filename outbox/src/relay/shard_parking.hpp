// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_PARKING_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_PARKING_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "relay/shard_context.hpp"
#include "table/parked.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::detail {

/// Parks rows of a shard that cannot be sent, and returns those whose topic was missing once the
/// sink has it.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The context outlives the object.
class shard_parking {
public:
    explicit shard_parking(shard_context& shard) : shard_(shard) {}

    /// Begins to work for a sink that was just opened.
    void begin();

    /// Parks rows. @return whether the shard is still ours.
    asio::awaitable<bool> park(std::vector<table::poison_row> poison);
    /// Parks rows that wait behind parked ones. @return whether the shard is still ours.
    asio::awaitable<bool> park_blocked(std::vector<std::int64_t> rows);

    bool is_look_due() const;
    clock::duration until_look() const;
    /// Looks for missing topics with parked rows, and returns a portion of the rows of each that
    /// exists by now. @return how sending ended, if it did.
    asio::awaitable<std::optional<shard_end>> look_for_topics();

private:
    bool note_parked(error_code failed, std::size_t moved);
    asio::awaitable<std::optional<table::returned_walk>>
    send_returned(const table::away_topic& topic);

    shard_context& shard_;
    bool away_ = true;             ///< Rows may be parked for a missing topic.
    clock::time_point look_at_{};  ///< When to look for missing topics.
    /// Topics of which only some rows are returned, by shard and name.
    std::map<std::pair<std::uint32_t, std::string>, table::returned_walk> walks_;
};

}  // namespace mortise::outbox::detail

#endif
