// SPDX-License-Identifier: BSL-1.0
// The answers to questions about locks, which people ask.
#include "store/break_note.hpp"
#include "store/hex_id.hpp"
#include "store/redis/redis_answers.hpp"
#include "store/redis/stored_entry.hpp"
#include "store/redis/words.hpp"
#include "store/store_domain.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {
namespace {

using value_kind = redis_value::kind;

result<party_view>
party_of(const redis_value& reply, std::uint64_t now, const token_domain& domain, bool& granted) {
    if (reply.type != value_kind::array || reply.items.size() != 6)
        return error_code(errc::store_corrupt);
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
        return error_code(errc::store_corrupt);
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
        return error_code(errc::store_corrupt);
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
        return error_code(errc::store_corrupt);
    record.token = token_of(base, static_cast<std::uint32_t>(slot), domain);
    record.holder = holders_text(holders, count);
    return record;
}

}  // namespace

result<std::vector<std::string>> parse_names(redis_value reply) {
    if (reply.type != value_kind::array)
        return error_code(errc::store_corrupt);
    std::vector<std::string> names;
    names.reserve(reply.items.size());
    for (auto& each : reply.items) {
        if (each.type != value_kind::text)
            return error_code(errc::store_corrupt);
        names.push_back(std::move(each.text));
    }
    return names;
}

result<std::vector<lock_view>> parse_locks(const redis_value& reply) {
    std::vector<lock_view> locks;
    if (reply.type != value_kind::array || reply.items.size() < 2)
        return error_code(errc::store_corrupt);
    words now(reply.items[0].text);
    const auto at = now.number();
    const auto domain = parse_store_domain(reply.items[1].text);
    if (now.failed() || (!domain && reply.items.size() > 2))
        return error_code(errc::store_corrupt);
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
        return error_code(errc::store_corrupt);
    return reply.number != 0;
}

result<std::vector<break_record>>
parse_breaks(const redis_value& reply, const std::string& name, const token_domain& domain) {
    std::vector<break_record> records;
    if (reply.type != value_kind::array)
        return error_code(errc::store_corrupt);
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
