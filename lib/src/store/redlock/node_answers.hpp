// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_NODE_ANSWERS_HPP
#define MORTISE_STORE_REDLOCK_NODE_ANSWERS_HPP

#include "mortise/error.hpp"
#include "mortise/store_types.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redlock/ballot.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

// Parsers of what the scripts of a node say. What no script says is `store_corrupt`; a session that
// is gone is `session_lost`. No clock, no I/O.

/// Scripts count with numbers that are exact up to twice that. In microseconds, the year 2112.
constexpr std::uint64_t latest_guess = std::uint64_t{1} << 52;

/// The state of a node, as it tells when a session is opened or proved.
struct node_state {
    node_state() = default;

    std::string start;         ///< Names the start after which it may have forgotten something.
    clock::duration closed{};  ///< How much of its quarantine is left.
    bool knows_counters = false;
    std::uint64_t news = 0;                        ///< The messages to the session so far.
    std::uint64_t time = 0;                        ///< In microseconds.
    std::optional<clock::duration> next_deadline;  ///< Of another session.
    std::vector<std::string> dead;                 ///< Sessions that can be expelled.
    /// As many of them are told at once.
    static constexpr std::size_t portion = 16;

    bool votes() const noexcept { return closed <= closed.zero() && knows_counters; }
};

/// @par Errors `bad_config`: the store has another number of nodes. `newer_format`. `not_a_store`:
/// it is one of the queue form. `wrong_server`: its clock is too far ahead.
result<node_state> parse_node_state(const redis_value& reply);

/// The answer of a node, with its time in microseconds.
struct timed_answer {
    timed_answer() = default;

    ballot_answer answer;
    std::uint64_t time = 0;
};

result<timed_answer> parse_ballot_answer(const redis_value& reply);
/// Whether the request had the vote that it gives back.
result<bool> parse_freed(const redis_value& reply);

/// What a node says of its counters.
struct node_counters {
    node_counters() = default;

    bool known = false;
    std::uint64_t top = 0;
    std::uint64_t time = 0;
    std::uint64_t longest = 0;  ///< The longest TTL that the node knows of, in ms.
};

result<node_counters> parse_counters(const redis_value& reply);

/// Of each grant that was asked about, whether the vote is there; with the messages so far.
struct checked_votes {
    checked_votes() = default;

    enum class vote : std::uint8_t { missing, there, contended };

    std::uint64_t news = 0;
    std::vector<vote> votes;
};

result<checked_votes> parse_checked(const redis_value& reply, std::size_t count);

/// A message of a node to a session.
struct node_message {
    enum class kind : std::uint8_t {
        freed,       ///< The request is the first of the queue at a node that has a vote to give.
        challenged,  ///< `other` waits for the vote that the request has.
        tried,       ///< Another client has tried in vain to get the lock.
        broken,      ///< The vote for the ballot with guess `base` was taken away.
    };

    node_message() = default;

    std::uint64_t news = 0;
    kind type = kind::freed;
    request_id request = 0;
    order_key other;
    std::uint64_t base = 0;
};

std::optional<node_message> parse_node_message(std::string_view text);

/// What a session wants people to know of it.
std::string facts_text(const session_start& start);

/// A request as a node sees it: it has the vote of the node, or waits there.
struct party_at_node {
    party_at_node() = default;

    std::string owner;
    request_id request = 0;
    std::uint64_t base = 0;  ///< Of a vote; 0: it waits.
    party_view view;
    std::uint64_t since = 0;  ///< By the clock of the node.
};

/// A lock as a node sees it, in the order of its queue.
struct lock_at_node {
    lock_at_node() = default;

    std::vector<party_at_node> parties;
};

result<std::vector<lock_at_node>> parse_locks_at_node(const redis_value& reply, std::size_t count);

}  // namespace mortise::store_detail

#endif
