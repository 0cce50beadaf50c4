// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_answers.hpp"

#include "store/hex_id.hpp"
#include "store/redis/stored_entry.hpp"
#include "store/redis/words.hpp"
#include "store/store_domain.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace mortise::store_detail {
namespace {

using value_kind = redis_value::kind;

const error_code corrupt = errc::store_corrupt;

// The letter that an answer consists of, or begins with.
std::string_view letter_of(const redis_value& reply) {
    if (reply.type == value_kind::text)
        return reply.text;
    if (reply.type == value_kind::array && !reply.items.empty() &&
        reply.items.front().type == value_kind::text)
        return reply.items.front().text;
    return {};
}

result<session_entry> entry_of(
    const redis_value& flag, const redis_value& text, std::uint64_t now, const token_domain& domain
) {
    session_entry entry;
    words contended(flag.text);
    entry.contended = contended.flag();
    auto stored = stored_entry::parse(text.text);
    if (contended.failed() || !stored)
        return corrupt;
    entry.name = std::move(stored->name);
    entry.granted = stored->granted;
    if (!entry.granted)
        return entry;
    entry.token = token_of(stored->base, stored->slot, domain);
    entry.slot = stored->slot;
    entry.age = age_of(stored->since, now);
    entry.hold_max = stored->hold_max;
    return entry;
}

// Limits a time to the 53 bits that a script can count with.
clock::duration time_of(std::uint64_t micros) {
    return std::chrono::microseconds(micros & ((1ull << 53) - 1));
}

}  // namespace

std::chrono::milliseconds parse_longest_ttl(const redis_value& reply) noexcept {
    std::uint32_t longest = 0;
    for (const auto& each : reply.items) {
        words text(each.text);
        const auto count = text.number<std::uint32_t>();
        if (!text.failed() && text.at_end())
            longest = std::max(longest, count);
    }
    return std::chrono::milliseconds(longest);
}

std::string_view quarantine_end_in(std::string_view tokens) noexcept {
    words parts(tokens);
    parts.next();
    return parts.next();
}

std::chrono::milliseconds
parse_time_left(std::string_view until, const redis_value& time) noexcept {
    if (time.items.size() != 2)
        return std::chrono::milliseconds(0);
    words end(until);
    words seconds(time.items[0].text);
    words micros(time.items[1].text);
    const auto now = time_of(seconds.number() * 1'000'000 + micros.number());
    const auto left = time_of(end.number()) - now;
    return std::max(
        std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(left)
    );
}

result<resumed_session> parse_resumed(const redis_value& reply) {
    const auto letter = letter_of(reply);
    if (letter == "l" || letter == "k")
        return error_code(errc::session_lost);
    if (is_spread(reply))
        return error_code(errc::bad_config);
    if (letter == "f")
        return error_code(errc::newer_format);
    if (letter == "d" || letter == "c")
        return error_code(errc::bad_config);
    if (letter == "n")
        return error_code(errc::not_a_store);
    if (letter == "u")
        return error_code(errc::store_unavailable);
    if (letter != "o" || reply.items.size() != 6)
        return corrupt;
    resumed_session session;
    const auto domain = parse_store_domain(reply.items[2].text);
    if (!domain)
        return corrupt;
    session.domain = *domain;
    session.run = reply.items[1].text.empty() ? "-" : reply.items[1].text;
    session.incarnation = incarnation_of(reply.items[1].text);
    words left(reply.items[3].text);
    session.quarantine = time_of(left.number());
    words time(reply.items[4].text);
    session.now = time.number();
    words changes(reply.items[5].text);
    session.changes = changes.number();
    if (left.failed() || time.failed() || changes.failed())
        return corrupt;
    return session;
}

bool is_spread(const redis_value& reply) noexcept {
    return letter_of(reply) == "f" && reply.items.size() == 2 &&
           reply.items[1].text.starts_with(spread_format);
}

std::string other_parts(const redis_value& reply) {
    const bool differs = letter_of(reply) == "c" && reply.items.size() == 2;
    return differs ? reply.items[1].text : std::string();
}

bool is_missing(const redis_value& reply) noexcept {
    return letter_of(reply) == "m";
}

bool is_out_of_ordinary(const redis_value& reply) noexcept {
    return letter_of(reply) == "+";
}

bool leaves_ordinary(const redis_value& reply) noexcept {
    std::string_view text = reply.text;
    if (text.starts_with("y ") || text.starts_with("n "))
        text.remove_prefix(2);
    return text.starts_with("g ") || text.starts_with("q 1 ");
}

result<answer> parse_answer(const redis_value& raw, const token_domain& domain) {
    words parts(raw.text);
    const auto letter = parts.next();
    answer reply;
    std::uint64_t base = 0;
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter == "c")
        return error_code(errc::capacity_differs);
    if (letter == "g") {
        reply.type = answer::kind::granted;
        base = parts.base();
        reply.slot = parts.number<std::uint32_t>();
        reply.contended = parts.flag();
    } else if (letter == "q") {
        reply.type = answer::kind::queued;
        reply.position = parts.number();
        reply.contended = parts.flag();
    } else if (letter != "n") {
        return corrupt;
    }
    if (raw.type != value_kind::text || parts.failed() || !parts.at_end() ||
        reply.slot > lock_mode::capacity_max)
        return corrupt;
    if (base != 0)  // A slot beyond the limit would not fit into a domain.
        reply.token = token_of(base, reply.slot, domain);
    return reply;
}

result<answers_in_order>
parse_answers(const redis_value& reply, std::size_t most, const token_domain& domain) {
    if (letter_of(reply) == "l")
        return error_code(errc::session_lost);
    if (reply.type != value_kind::array || reply.items.empty() || reply.items.size() > most)
        return corrupt;
    answers_in_order all;
    for (const auto& each : reply.items)
        all.push_back(parse_answer(each, domain));
    return all;
}

result<bool> parse_released(const redis_value& reply) {
    const auto letter = letter_of(reply);
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter != "y" && letter != "n")
        return corrupt;
    return letter == "y";
}

released_and_asked parse_released_and_asked(const redis_value& reply, const token_domain& domain) {
    const auto space = std::min(reply.text.find(' '), reply.text.size());
    redis_value first = reply;
    first.text.resize(space);
    released_and_asked both{parse_released(first), corrupt};
    redis_value second = reply;
    second.text.erase(0, space + 1);
    if (both.released)
        both.asked = parse_answer(second, domain);
    else
        both.asked = both.released.error();
    return both;
}

error_code parse_done(const redis_value& reply) {
    const auto letter = letter_of(reply);
    if (letter == "l")
        return errc::session_lost;
    return letter == "o" ? error_code() : corrupt;
}

error_code parse_ended(const redis_value& reply) {
    const auto letter = letter_of(reply);
    return letter == "o" || letter == "n" ? error_code() : corrupt;
}

result<token_range> parse_drawn(const redis_value& reply, const token_domain& domain) {
    words parts(reply.text);
    const auto letter = parts.next();
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter == "n")
        return error_code(errc::lease_lost);
    if (letter == "s")
        return error_code(errc::unsupported);
    const auto first = parts.base();
    const auto count = parts.base();
    if (letter != "d" || parts.failed() || !parts.at_end() ||
        first + count > fencing_token::base_end)
        return corrupt;
    token_range range;
    range.first = token_of(first, 0, domain);
    range.count = count << fencing_token::sequence_bits;
    return range;
}

result<std::chrono::milliseconds> parse_extended(const redis_value& reply) {
    words parts(reply.text);
    const auto letter = parts.next();
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter == "n")
        return error_code(errc::lease_lost);
    const auto kept = parse_hold(parts.next());
    if (letter != "h" || !kept || !parts.at_end())
        return corrupt;
    return *kept;
}

result<beat_answer> parse_beat(const redis_value& reply) {
    words parts(letter_of(reply));
    const auto letter = parts.next();
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter == "r")
        return error_code(errc::store_replaced);
    beat_answer beat;
    beat.run = parts.next();
    beat.value.incarnation = incarnation_of(beat.run);
    beat.value.changes = parts.number();
    beat.value.grants = parts.number();
    beat.value.requests = parts.number();
    beat.watches = parts.flag();
    if (const auto next = parts.next(); next != "-") {
        words number(next);
        beat.value.next_deadline = time_of(number.number());
        if (number.failed())
            return corrupt;
    }
    beat.deadline = parts.number();
    beat.value.quarantine = time_of(parts.number());
    if (letter != "o" || parts.failed() || !parts.at_end() || reply.items.size() != 4)
        return corrupt;
    const auto texts_of = [](const redis_value& from, std::vector<std::string>& to) {
        for (const auto& each : from.items)
            to.push_back(each.text);
    };
    texts_of(reply.items[1], beat.dead);
    texts_of(reply.items[2], beat.ended);
    texts_of(reply.items[3], beat.blocked);
    return beat;
}

result<surveyed_entries> parse_survey(const redis_value& reply) {
    words head(letter_of(reply));
    const auto letter = head.next();
    if (letter == "l")
        return error_code(errc::session_lost);
    surveyed_entries found;
    found.changes = head.number();
    if (letter != "o" || head.failed() || reply.items.size() < 2 || reply.items.size() % 2 != 0)
        return corrupt;
    found.cursor = reply.items[1].text;
    for (std::size_t at = 2; at < reply.items.size(); at += 2) {
        surveyed_entries::entry entry;
        words id(reply.items[at].text);
        entry.id = id.number();
        words text(reply.items[at + 1].text);
        text.next();  // the mode
        entry.lock = text.rest();
        if (id.failed() || !id.at_end() || entry.lock.empty())
            return corrupt;
        found.entries.push_back(std::move(entry));
    }
    return found;
}

result<std::vector<session_entry>> parse_states(
    const redis_value& reply, const std::vector<request_id>& ids, const token_domain& domain
) {
    words head(letter_of(reply));
    const auto letter = head.next();
    if (letter == "l")
        return error_code(errc::session_lost);
    const auto now = head.number();
    if (letter != "o" || head.failed() || reply.items.size() != 1 + 2 * ids.size())
        return corrupt;
    std::vector<session_entry> entries;
    for (std::size_t at = 0; at < ids.size(); ++at) {
        const auto& text = reply.items[2 + 2 * at];
        if (text.text.empty())
            continue;
        auto entry = entry_of(reply.items[1 + 2 * at], text, now, domain);
        if (!entry)
            return entry.error();
        entry->id = ids[at];
        entries.push_back(std::move(*entry));
    }
    return entries;
}

}  // namespace mortise::store_detail
