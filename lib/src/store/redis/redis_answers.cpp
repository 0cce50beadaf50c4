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

result<session_entry>
entry_of(std::span<const redis_value, 3> parts, std::uint64_t now, const token_domain& domain) {
    session_entry entry;
    words id(parts[0].text);
    words contended(parts[1].text);
    entry.id = id.number();
    entry.contended = contended.flag();
    auto stored = stored_entry::parse(parts[2].text);
    if (id.failed() || !id.at_end() || contended.failed() || !stored)
        return corrupt;
    entry.name = std::move(stored->name);
    entry.granted = stored->granted;
    if (!entry.granted)
        return entry;
    entry.token = token_of(stored->base, stored->slot, domain);
    entry.slot = stored->slot;
    entry.age = age_of(stored->since, now);
    return entry;
}

// Parses NOW, CHANGES, and three texts for each entry.
result<session_view> view_of(std::span<const redis_value> parts, const token_domain& domain) {
    if (parts.size() < 2 || (parts.size() - 2) % 3 != 0)
        return corrupt;
    session_view view;
    words now(parts[0].text);
    words changes(parts[1].text);
    const auto at = now.number();
    view.changes = changes.number();
    if (now.failed() || changes.failed())
        return corrupt;
    view.entries.reserve((parts.size() - 2) / 3);
    for (parts = parts.subspan(2); !parts.empty(); parts = parts.subspan(3)) {
        auto entry = entry_of(parts.first<3>(), at, domain);
        if (!entry)
            return entry.error();
        view.entries.push_back(std::move(*entry));
    }
    return view;
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
    if (letter == "f")
        return error_code(errc::newer_format);
    if (letter == "d")
        return error_code(errc::bad_config);
    if (letter == "u")
        return error_code(errc::store_unavailable);
    if (letter != "o" || reply.items.size() < 6)
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
    if (left.failed())
        return corrupt;
    auto view = view_of(std::span(reply.items).subspan(4), session.domain);
    if (!view)
        return view.error();
    session.view = std::move(*view);
    return session;
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

result<bool> parse_released(const redis_value& reply) {
    const auto letter = letter_of(reply);
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter != "y" && letter != "n")
        return corrupt;
    return letter == "y";
}

error_code parse_done(const redis_value& reply) {
    const auto letter = letter_of(reply);
    if (letter == "l")
        return errc::session_lost;
    return letter == "o" ? error_code() : corrupt;
}

result<bool> parse_ended(const redis_value& reply) {
    const auto letter = letter_of(reply);
    if (letter != "o" && letter != "m")
        return corrupt;
    return letter == "m";
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

result<beat_answer> parse_beat(const redis_value& reply) {
    words parts(reply.text);
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
    if (letter != "o" || parts.failed() || !parts.at_end())
        return corrupt;
    return beat;
}

result<session_view> parse_view(const redis_value& reply, const token_domain& domain) {
    const auto letter = letter_of(reply);
    if (letter == "l")
        return error_code(errc::session_lost);
    if (letter != "o" || reply.items.empty())
        return corrupt;
    return view_of(std::span(reply.items).subspan(1), domain);
}

}  // namespace mortise::store_detail
