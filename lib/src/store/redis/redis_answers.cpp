// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_answers.hpp"

#include "store/break_note.hpp"
#include "store/redis/hex_id.hpp"
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

fencing_token token_of(std::uint64_t base, std::uint32_t slot, const token_domain& domain) {
    return {base << fencing_token::sequence_bits, domain.of_slot(slot)};
}

// The time from `since` to `now`, limited to what a duration can hold: a corrupt store may say
// anything.
clock::duration age_of(std::uint64_t since, std::uint64_t now) {
    constexpr std::uint64_t most = (std::uint64_t{1} << 53) - 1;
    return std::chrono::microseconds(now > since ? std::min(now - since, most) : 0);
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

result<party_view>
party_of(const redis_value& reply, std::uint64_t now, const token_domain& domain, bool& granted) {
    if (reply.type != value_kind::array || reply.items.size() != 6)
        return corrupt;
    const auto id = parse_hex_id(reply.items[0].text);
    auto stored = stored_entry::parse(reply.items[4].text);
    words pid(reply.items[3].text);
    words deadline(reply.items[5].text);
    const std::uint64_t until = deadline.number();
    party_view party;
    party.host = reply.items[1].text;
    party.label = reply.items[2].text;
    party.pid = pid.number<std::uint32_t>();
    if (!id || !stored || pid.failed() || deadline.failed())
        return corrupt;
    party.session = *id;
    party.mode = stored->mode;
    party.hold_max = stored->hold_max;
    party.slot = stored->slot;
    party.age = age_of(stored->since, now);
    party.left = age_of(now, until);
    granted = stored->granted;
    if (!granted)
        return party;
    party.token = token_of(stored->base, stored->slot, domain);
    if (stored->hold_max != std::chrono::milliseconds::max())
        party.left = std::min(
            party.left, std::max<clock::duration>(stored->hold_max - party.age, clock::duration())
        );
    return party;
}

result<lock_view> lock_of(const redis_value& reply, std::uint64_t now, const token_domain& domain) {
    if (reply.type != value_kind::array || reply.items.size() != 3 || reply.items[1].number < 0)
        return corrupt;
    lock_view lock;
    lock.name = reply.items[0].text;
    lock.waiter_count = static_cast<std::uint64_t>(reply.items[1].number);
    for (const auto& each : reply.items[2].items) {
        bool granted = false;
        auto party = party_of(each, now, domain, granted);
        if (!party)
            return party.error();
        (granted ? lock.holders : lock.waiters).push_back(std::move(*party));
    }
    return lock;
}

// Limits a time to the 53 bits that a script can count with.
clock::duration time_of(std::uint64_t micros) {
    return std::chrono::microseconds(micros & ((1ull << 53) - 1));
}

// Reads fields of the form "LENGTH:BYTES", one after the other.
class fields {
public:
    explicit fields(std::string_view text) noexcept : rest_(text) {}

    std::string_view next() noexcept {
        const auto colon = rest_.find(':');
        words length(rest_.substr(0, colon));
        const auto size = length.number<std::size_t>();
        if (colon == std::string_view::npos || length.failed() || size > rest_.size() - colon - 1) {
            failed_ = true;
            rest_ = {};
            return {};
        }
        const auto field = rest_.substr(colon + 1, size);
        rest_.remove_prefix(colon + 1 + size);
        return field;
    }

    std::uint64_t number() noexcept {
        words digits(next());
        const auto value = digits.number();
        failed_ = failed_ || digits.failed();
        return value;
    }

    bool failed() const noexcept { return failed_; }
    bool at_end() const noexcept { return rest_.empty(); }

private:
    std::string_view rest_;
    bool failed_ = false;
};

result<break_record> record_of(const std::string& text, const token_domain& domain) {
    fields reader(text);
    break_record record;
    const auto at = std::chrono::microseconds(reader.number() & ((1ull << 53) - 1));
    record.at = std::chrono::system_clock::time_point(at);
    record.name = reader.next();
    const auto base = reader.number();
    const auto slot = reader.number();
    record.who = reader.next();
    record.why = reader.next();
    const auto count = reader.number();
    std::vector<party_view> holders;
    while (!reader.at_end() && holders.size() < holders_named) {
        party_view holder;
        holder.host = reader.next();
        holder.pid = static_cast<std::int64_t>(reader.number() & 0xffff'ffff);
        holder.label = reader.next();
        holders.push_back(std::move(holder));
    }
    if (reader.failed() || base >= fencing_token::base_end || slot > lock_mode::capacity_max)
        return corrupt;
    record.token = token_of(base, static_cast<std::uint32_t>(slot), domain);
    record.holder = holders_text(holders, count);
    return record;
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

result<std::vector<std::string>> parse_names(redis_value reply) {
    if (reply.type != value_kind::array)
        return corrupt;
    std::vector<std::string> names;
    names.reserve(reply.items.size());
    for (auto& each : reply.items) {
        if (each.type != value_kind::text)
            return corrupt;
        names.push_back(std::move(each.text));
    }
    return names;
}

result<std::vector<lock_view>> parse_locks(const redis_value& reply) {
    std::vector<lock_view> locks;
    if (reply.type != value_kind::array || reply.items.size() < 2)
        return corrupt;
    words now(reply.items[0].text);
    const auto at = now.number();
    const auto domain = parse_store_domain(reply.items[1].text);
    if (now.failed() || (!domain && reply.items.size() > 2))
        return corrupt;
    for (const auto& each : std::span(reply.items).subspan(2)) {
        auto lock = lock_of(each, at, *domain);
        if (!lock)
            return lock.error();
        locks.push_back(std::move(*lock));
    }
    return locks;
}

result<bool> parse_broken(const redis_value& reply) {
    if (reply.type != value_kind::number || reply.number < 0)
        return corrupt;
    return reply.number != 0;
}

result<std::vector<break_record>>
parse_breaks(const redis_value& reply, const std::string& name, const token_domain& domain) {
    std::vector<break_record> records;
    if (reply.type != value_kind::array)
        return corrupt;
    for (const auto& each : reply.items) {
        auto record = record_of(each.text, domain);
        if (!record)
            return record.error();
        if (name.empty() || record->name == name)
            records.push_back(std::move(*record));
    }
    return records;
}

}  // namespace mortise::store_detail
