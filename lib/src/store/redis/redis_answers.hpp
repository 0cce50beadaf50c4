// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_ANSWERS_HPP
#define MORTISE_STORE_REDIS_REDIS_ANSWERS_HPP

#include "mortise/store_types.hpp"
#include "store/redis/redis_wire.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

// Parsers of the answers that scripts give. An answer that no script gives is `store_corrupt`. The
// base of a token gets the domain that is made from the store's. No clock, no I/O.

/// The answer to a session that was resumed.
struct resumed_session {
    resumed_session() = default;

    std::string run;  ///< The run of the server; a dash if it does not tell.
    random_id incarnation;
    token_domain domain;
    clock::duration quarantine{};  ///< How much of it is left.
    std::uint64_t now = 0;         ///< The server's clock, in microseconds.
    std::uint64_t changes = 0;
};

/// A portion of the index of a session.
struct surveyed_entries {
    surveyed_entries() = default;

    struct entry {
        request_id id = 0;
        std::string lock;
    };

    std::uint64_t changes = 0;  ///< Of the session.
    std::string cursor;         ///< Of the next portion; "0": that was all.
    std::vector<entry> entries;
};

/// A heartbeat, without the time at which it was sent.
struct beat_answer {
    beat_answer() = default;

    heartbeat value;
    std::string run;             ///< The run of the server; a dash if it does not tell.
    std::uint64_t deadline = 0;  ///< The session's deadline by now, by the server's clock.
    bool watches = false;        ///< The server still has to tell the session of a change.

    /// As many of each are told at once: dead sessions, grants that have ended (SESSION:ID:NAME),
    /// locks that a quarantine has blocked.
    static constexpr std::size_t portion = 64;
    std::vector<std::string> dead;
    std::vector<std::string> ended;
    std::vector<std::string> blocked;

    bool has_any() const noexcept { return !dead.empty() || !ended.empty() || !blocked.empty(); }
    /// There may be more than was told.
    bool is_full() const noexcept {
        return dead.size() >= portion || ended.size() >= portion || blocked.size() >= portion;
    }
};

/// The longest TTL that the sessions of a store have claimed; zero if there is none.
std::chrono::milliseconds parse_longest_ttl(const redis_value& reply) noexcept;

/// The end of the quarantine in the text of the tokens, "BASE UNTIL WATCHED"; empty for none.
std::string_view quarantine_end_in(std::string_view tokens) noexcept;

/// The time that is left until `until`, a time of the store, by the server's answer to `TIME`; zero
/// if it is over.
std::chrono::milliseconds parse_time_left(std::string_view until, const redis_value& time) noexcept;

/// @par Errors `session_lost`, `newer_format`, `bad_config` (another domain is wanted than the
///             store has), `store_unavailable` (nobody listens at the inbox).
result<resumed_session> parse_resumed(const redis_value& reply);
/// The format in the record of a store that is spread over buckets begins so. Programs that know
/// no buckets refuse it as a newer one.
inline constexpr std::string_view spread_format = "buckets";
/// Whether a session was not resumed because the store is spread over buckets.
bool is_spread(const redis_value& reply) noexcept;
/// In how many buckets the store lies, if a session was not resumed because of that; else empty.
std::string other_parts(const redis_value& reply);
/// Whether a session was not resumed because there is no store yet.
bool is_missing(const redis_value& reply) noexcept;
/// Whether the short ways did not apply.
bool is_out_of_ordinary(const redis_value& reply) noexcept;

/// Whether a lock is ordinary again after a request by the rules: it was free, or has no more than
/// a holder.
bool leaves_ordinary(const redis_value& reply) noexcept;

/// @par Errors `session_lost`, `capacity_differs`.
result<answer> parse_answer(const redis_value& raw, const token_domain& domain);

/// The answers to at most `most` requests.
/// @par Errors `session_lost`.
result<answers_in_order>
parse_answers(const redis_value& reply, std::size_t most, const token_domain& domain);

/// @par Errors `session_lost`.
result<bool> parse_released(const redis_value& reply);
/// As `parse_released`, with the answer to the request that came with the release.
released_and_asked parse_released_and_asked(const redis_value& reply, const token_domain& domain);
/// Parses a bare "o". @return no code, or `session_lost`.
error_code parse_done(const redis_value& reply);
/// The answer to the end of a session, which may be gone.
error_code parse_ended(const redis_value& reply);
/// @par Errors `session_lost`, `lease_lost`, `unsupported`.
result<token_range> parse_drawn(const redis_value& reply, const token_domain& domain);
/// For how long the grant is kept.
/// @par Errors `session_lost`, `lease_lost`.
result<std::chrono::milliseconds> parse_extended(const redis_value& reply);
/// @par Errors `session_lost`, `store_replaced`.
result<beat_answer> parse_beat(const redis_value& reply);
/// @par Errors `session_lost`.
result<surveyed_entries> parse_survey(const redis_value& reply);
/// The entries of those ids; without those that the server does not have.
/// @par Errors `session_lost`.
result<std::vector<session_entry>> parse_states(
    const redis_value& reply, const std::vector<request_id>& ids, const token_domain& domain
);
/// Parses an array of texts.
result<std::vector<std::string>> parse_names(redis_value reply);
result<std::vector<lock_view>> parse_locks(const redis_value& reply);
/// Whether any grant was broken.
result<bool> parse_broken(const redis_value& reply);
/// Parses the records of broken locks; an empty `name` stands for all locks.
result<std::vector<break_record>>
parse_breaks(const redis_value& reply, const std::string& name, const token_domain& domain);

}  // namespace mortise::store_detail

#endif
