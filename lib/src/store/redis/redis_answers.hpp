// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_ANSWERS_HPP
#define MORTISE_STORE_REDIS_REDIS_ANSWERS_HPP

#include "mortise/store_types.hpp"
#include "store/redis/redis_value.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

// What the scripts answer, taken apart. An answer that no script gives is `store_corrupt`. The base
// of a token is put into the domain that is made from that of the store. No clock, no I/O.

/// A session as it was resumed.
struct resumed_session {
    resumed_session() = default;

    std::string run;  ///< Of the server; a dash if it does not tell.
    random_id incarnation;
    token_domain domain;
    clock::duration quarantine{};  ///< What is left of it.
    std::uint64_t now = 0;         ///< The server's clock, in microseconds.
    session_view view;
};

/// A heartbeat, without the time at which it was sent.
struct beat_answer {
    beat_answer() = default;

    heartbeat value;
    std::string run;             ///< Of the server; a dash if it does not tell.
    std::uint64_t deadline = 0;  ///< Of the session by now, by the server's clock.
    bool watches = false;        ///< The session is still to be told of the next change.
};

/// The longest of the TTLs that the sessions of a store have claimed; zero if there is none.
std::chrono::milliseconds parse_longest_ttl(const redis_value& said) noexcept;

/// From the server's clock, which `TIME` told, to a time of the store; zero if that is over.
std::chrono::milliseconds parse_time_left(std::string_view until, const redis_value& time) noexcept;

/// @par Errors `session_lost`, `newer_format`, `bad_config` (another domain is wanted than the
/// store has), `store_unavailable` (the inbox does not hear).
result<resumed_session> parse_resumed(const redis_value& said);

/// @par Errors `session_lost`, `capacity_differs`.
result<answer> parse_answer(const redis_value& said, const token_domain& domain);

/// @par Errors `session_lost`.
result<bool> parse_released(const redis_value& said);
/// A bare "o". @return no code; `session_lost`.
error_code parse_done(const redis_value& said);
/// Whether the end of a session is not complete yet.
result<bool> parse_ended(const redis_value& said);
/// @par Errors `session_lost`, `lease_lost`, `unsupported`.
result<token_range> parse_drawn(const redis_value& said, const token_domain& domain);
/// @par Errors `session_lost`, `store_replaced`.
result<beat_answer> parse_beat(const redis_value& said);
/// @par Errors `session_lost`.
result<session_view> parse_view(const redis_value& said, const token_domain& domain);
/// Nothing but texts.
result<std::vector<std::string>> parse_names(redis_value said);
result<std::vector<lock_view>> parse_locks(const redis_value& said);
/// How many grants were broken.
result<bool> parse_broken(const redis_value& said);
/// The records of broken locks; empty names stand for all.
result<std::vector<break_record>>
parse_breaks(const redis_value& said, const std::string& name, const token_domain& domain);

}  // namespace mortise::store_detail

#endif
