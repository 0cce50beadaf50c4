// SPDX-License-Identifier: BSL-1.0
// The answers of a SQL server as values.
#include "core/session_rules.hpp"
#include "store/hex_id.hpp"
#include "store/sql/sql_server.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <variant>

namespace mortise::store_detail {

using db::row;

std::string bytes_in(const row& from, std::string_view column) {
    const auto& value = from.value(column);
    if (const auto* const raw = std::get_if<db::blob>(&value))
        return raw->bytes;
    return from.is_null(column) ? std::string() : from.text(column);
}

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::uint64_t number(const row& from, std::string_view column) {
    return from.is_null(column) ? 0 : static_cast<std::uint64_t>(from.integer(column));
}

bool flag(const row& from, std::string_view column) {
    return number(from, column) != 0;
}

clock::time_point time(const row& from, std::string_view column) {
    return clock::time_point(microseconds(from.integer(column)));
}

// An id that cannot be read is one that nobody has.
random_id id(const row& from, std::string_view column) {
    return parse_hex_id(bytes_in(from, column)).value_or(random_id());
}

token_domain domain(const row& from, std::string_view column) {
    return token_domain::parse(bytes_in(from, column)).value_or(token_domain());
}

lock_mode mode(const row& from) {
    switch (static_cast<lock_mode::kind>(number(from, "mode"))) {
    case lock_mode::kind::shared:
        return lock_mode::shared();
    case lock_mode::kind::permits:
        return lock_mode::permits(static_cast<std::uint32_t>(number(from, "capacity")));
    default:
        return lock_mode::exclusive();
    }
}

core::lock_entry entry(const row& from, std::string name) {
    core::lock_entry read;
    read.name = std::move(name);
    read.granted = flag(from, "granted");
    read.ordinal = number(from, "ordinal");
    read.session = number(from, "session");
    read.id = number(from, "id");
    read.mode = mode(from);
    if (!from.is_null("hold_max"))
        read.hold_max = milliseconds(from.integer("hold_max"));
    read.token = number(from, "token");
    read.slot = static_cast<std::uint32_t>(number(from, "slot"));
    if (!from.is_null("since"))
        read.since = time(from, "since");
    return read;
}

// Adds the session of this row, once.
void add_party(const row& from, sql_lock& to) {
    const auto key = number(from, "session");
    const bool known = std::any_of(to.parties.begin(), to.parties.end(), [key](const auto& each) {
        return each.key == key;
    });
    if (known || from.is_null("session_id"))
        return;
    auto& party = to.parties.emplace_back();
    party.key = key;
    party.owner.id = id(from, "session_id");
    party.owner.generation = number(from, "generation");
    party.owner.ttl = milliseconds(from.integer("ttl"));
    party.owner.host = bytes_in(from, "host");
    party.owner.label = bytes_in(from, "label");
    party.owner.pid = from.integer("pid");
    party.dead = flag(from, "dead");
    party.deadline = time(from, "deadline");
}

sql_lock lock(const row& from, std::string name) {
    sql_lock read;
    read.name = std::move(name);
    read.row.stamp = number(from, "stamp");
    read.row.holder = number(from, "holder");
    read.row.request = number(from, "request");
    read.row.base = number(from, "base");
    read.row.queue = number(from, "queue");
    read.row.last = number(from, "last");
    read.row.rest = static_cast<std::uint32_t>(number(from, "rest"));
    read.now = time(from, "now");
    read.floor = number(from, "floor");
    read.domain = domain(from, "domain");
    read.quarantine = microseconds(from.integer("quarantine"));
    return read;
}

}  // namespace

result<sql_proof> read_proof(const sql_results& found) {
    if (found.at(0).empty())
        return error_code(errc::session_lost);
    const row& from = found[0].first();
    sql_proof proof;
    proof.key = number(from, "key");
    proof.incarnation = id(from, "incarnation");
    proof.domain = domain(from, "domain");
    proof.quarantine = microseconds(from.integer("quarantine"));
    return proof;
}

result<sql_beat> read_beat(const sql_results& found) {
    if (found.at(0).empty())
        return error_code(errc::session_lost);
    const row& from = found[0].first();
    sql_beat beat;
    beat.changes = number(from, "changes");
    beat.incarnation = id(from, "incarnation");
    beat.quarantine = microseconds(from.integer("quarantine"));
    beat.watches = flag(from, "watches");
    if (!from.is_null("next_deadline"))
        beat.next_deadline = microseconds(from.integer("next_deadline"));
    for (const row& each : found.at(1).rows)
        beat.dead.push_back(number(each, "key"));
    for (const row& each : found.at(2).rows)
        beat.ended.push_back(bytes_in(each, "name"));
    for (const row& each : found.at(3).rows)
        beat.nearest.push_back({number(each, "key"), id(each, "id")});
    // What is found now may be more than one portion.
    if (!beat.dead.empty() || !beat.ended.empty())
        beat.next_deadline = clock::duration::zero();
    return beat;
}

result<bool> read_dead(const sql_results& found) {
    return found.at(0).empty() || flag(found[0].first(), "dead");
}

result<sql_taken> read_taken(const sql_results& found) {
    sql_taken taken;
    if (found.at(0).empty())
        return taken;
    const row& from = found[0].first();
    if (from.is_null("base"))
        return taken;
    taken.apt = true;
    taken.granted = flag(from, "granted");
    taken.base = number(from, "base");
    taken.ordinal = number(from, "ordinal");
    taken.queue = number(from, "queue");
    taken.tells = flag(from, "tells");
    return taken;
}

result<bool> read_done(const sql_results& found) {
    return found.at(0).affected > 0;
}

result<sql_left> read_left(const sql_results& found) {
    sql_left left;
    if (found.at(0).empty())
        return left;
    const row& from = found[0].first();
    left.erased = flag(from, "erased");
    left.granted = flag(from, "granted");
    left.base = number(from, "base");
    return left;
}

result<bool> read_written(const sql_results& found) {
    const row& from = found.at(0).first();
    if (!flag(from, "alive"))
        return error_code(errc::session_lost);
    return flag(from, "written");
}

result<sql_entries> read_entries(const sql_results& found) {
    const row& first = found.at(0).first();
    sql_entries read;
    read.alive = flag(first, "alive");
    read.generation = number(first, "generation");
    read.changes = number(first, "changes");
    read.now = time(first, "now");
    for (const row& each : found[0].rows) {
        if (each.is_null("ordinal"))
            continue;
        auto& place = read.places.emplace_back();
        place.entry = entry(each, bytes_in(each, "name"));
        place.contended = flag(each, "contended");
        // A plain holder's base tells since when.
        if (each.is_null("since")) {
            const auto base = place.entry.token >> fencing_token::sequence_bits;
            place.entry.since = std::min(clock::time_point(microseconds(base)), read.now);
        }
    }
    return read;
}

result<std::vector<sql_lock>> read_locks(const sql_results& found) {
    std::vector<sql_lock> read;
    for (const row& each : found.at(0).rows) {
        auto name = bytes_in(each, "name");
        if (read.empty() || read.back().name != name)
            read.push_back(lock(each, name));
        sql_lock& last = read.back();
        if (!each.is_null("ordinal"))
            last.entries.push_back(entry(each, std::move(name)));
        add_party(each, last);
    }
    return read;
}

result<sql_lock> read_lock(const sql_results& found, sql_actor actor) {
    auto read = read_locks(found);
    if (read->size() != 1)
        return error_code(errc::store_corrupt);
    sql_lock& only = read->front();
    const auto acts = [&only, actor](const sql_party& each) {
        return each.key == actor.key && each.owner.generation == actor.generation && !each.dead &&
               !core::is_over(each.deadline, only.now);
    };
    if (actor.key != 0 && std::none_of(only.parties.begin(), only.parties.end(), acts))
        return error_code(errc::session_lost);
    std::sort(only.entries.begin(), only.entries.end(), [](const auto& one, const auto& other) {
        return one.ordinal < other.ordinal;
    });
    return std::move(only);
}

result<std::vector<break_record>> read_breaks(const sql_results& found) {
    std::vector<break_record> read;
    for (const row& each : found.at(0).rows) {
        auto& record = read.emplace_back();
        record.at = std::chrono::system_clock::time_point(microseconds(each.integer("at")));
        record.name = bytes_in(each, "name");
        record.token = {number(each, "token"), domain(each, "domain")};
        record.holder = bytes_in(each, "holder");
        record.who = bytes_in(each, "who");
        record.why = bytes_in(each, "why");
    }
    return read;
}

}  // namespace mortise::store_detail
