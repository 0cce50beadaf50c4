// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_NODE_NAMES_HPP
#define MORTISE_STORE_ZOOKEEPER_NODE_NAMES_HPP

#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// The name of a node for a lock, whose name is any bytes: those but letters, digits and `_` as
/// `%XX`.
std::string node_of_lock(std::string_view lock);
/// The other way round; nothing if `node` is no such name.
std::optional<std::string> lock_of_node(std::string_view node);

/// A request in the queue of a lock: an ephemeral, sequential node. Its name says whose it is, so
/// that a node whose making was not answered is found again, and never taken for one of an older
/// session.
struct queue_node {
    std::string name;
    session_id session;
    request_id request = 0;
    lock_mode mode;
    /// Its number among the children of the lock. Starts again under another container of the same
    /// name: so it is compared with numbers of the same queue only.
    std::uint32_t number = 0;

    /// The servers give out the last number again and again. Long before that a queue must drain,
    /// so that they delete its container and begin anew.
    bool is_near_the_end() const noexcept { return number >= numbers_max; }
    static constexpr std::uint32_t numbers_max = (1U << 31U) - (1U << 20U);

    bool is_of(const session_id& id, request_id wish) const noexcept {
        return session == id && request == wish;
    }
};

/// The name of a request's node without its number, which the server adds.
std::string node_prefix(const session_id& session, request_id request, lock_mode mode);
/// Nothing if `name` is not that of a request.
std::optional<queue_node> parse_queue_node(std::string_view name);

/// The data of a node that stands for a lock by itself: who made it, and whether others want it.
struct holder_note {
    session_id session;
    bool wanted = false;

    std::string text() const;
};

/// Nothing if `text` is no such note.
std::optional<holder_note> parse_holder_note(std::string_view text);

/// Whether the first number comes before the second one.
constexpr bool comes_before(std::uint32_t first, std::uint32_t second) noexcept {
    return static_cast<std::int32_t>(first - second) < 0;
}

}  // namespace mortise::store_detail

#endif
