// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/lock_reader.hpp"

#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/entry_values.hpp"
#include "store/sqlite/slot_file.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::sqlite_query;
using sqlite_detail::transaction_scope;

std::vector<session_entry> lock_reader::entries(core::session_key session) {
    std::vector<session_entry> entries;
    sqlite_query query(
        files_.db(),
        "SELECT request, name, queued, token, slot, queued = 0 AND EXISTS("
        "  SELECT 1 FROM entry AS other"
        "  WHERE other.name = entry.name AND queued = 1 AND session <> ?1), since, hold_max_ms"
        " FROM entry WHERE session = ?1 ORDER BY request"
    );
    query.bind(session);
    while (query.step()) {
        entry_values values(query);
        session_entry entry;
        entry.id = query.number(0);
        entry.name = query.name(1);
        entry.granted = query.within(2, 0, 1, "entry.queued") == 0;
        if (entry.granted) {
            entry.slot = values.slot(4);
            entry.token = {values.token(3, true), domain_.of_slot(entry.slot)};
            entry.contended = query.number(5) != 0;
            entry.age = values.age(6, at_);
            entry.hold_max = values.hold_max(7);
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::optional<notice> lock_reader::true_notice(const hint& hint, core::session_key session) {
    if (hint.type != hint::kind::granted && hint.type != hint::kind::contended)
        return std::nullopt;
    sqlite_query query(
        files_.db(),
        "SELECT token, slot, EXISTS("
        "  SELECT 1 FROM entry AS other"
        "  WHERE other.name = entry.name AND queued = 1 AND session <> ?1)"
        " FROM entry WHERE session = ?1 AND request = ?2 AND queued = 0"
    );
    if (!query.bind(session).bind(hint.request).step())
        return std::nullopt;
    notice found;
    found.kind = hint.type == hint::kind::granted ? store_event::kind::granted
                                                  : store_event::kind::contended;
    found.id = hint.request;
    entry_values values(query);
    found.token = values.token(0, true);
    found.slot = values.slot(1);
    found.contended = hint.type == hint::kind::contended || query.number(2) != 0;
    if (files_.db().failed())
        return std::nullopt;
    return found;
}

std::vector<lock_view>
lock_reader::list(const std::string& after, std::size_t limit, std::size_t queue_max) {
    std::vector<lock_view> locks;
    // Lets several statements see one state of the database.
    const transaction_scope scope(files_.db());
    files_.db().step("BEGIN");
    sqlite_query names(
        files_.db(),
        "SELECT name, sum(queued = 1) FROM entry WHERE name > ? GROUP BY name"
        " ORDER BY name LIMIT ?"
    );
    names.bind(after).bind(std::uint64_t{limit});
    while (names.step())
        locks.push_back(view_of(names.name(0), names.number(1), queue_max));
    return locks;
}

std::optional<lock_view> lock_reader::find(const std::string& name, std::size_t queue_max) {
    const transaction_scope scope(files_.db());
    files_.db().step("BEGIN");
    sqlite_query counts(files_.db(), "SELECT count(*), sum(queued = 1) FROM entry WHERE name = ?");
    if (!counts.bind(name).step() || counts.number(0) == 0)
        return std::nullopt;
    return view_of(name, counts.number(1), queue_max);
}

std::vector<party_view>
lock_reader::holders(const std::string& name, std::size_t limit, std::uint64_t token) {
    return parties(name, true, limit, token);
}

std::vector<break_record> lock_reader::breaks(const std::string& name, std::size_t limit) {
    std::vector<break_record> records;
    sqlite_query query(
        files_.db(),
        "SELECT at, name, token, slot, holder, who, why FROM break_log"
        " WHERE ?1 = x'' OR name = ?1 ORDER BY number DESC LIMIT ?2"
    );
    query.bind(name).bind(std::uint64_t{limit});
    while (query.step()) {
        break_record record;
        using std::chrono::microseconds;
        using moment = std::chrono::system_clock::time_point;
        constexpr auto last =
            std::chrono::floor<microseconds>(moment::max().time_since_epoch()).count();
        entry_values values(query);
        record.at = moment(microseconds(query.within(0, -last, last, "break_log.at")));
        record.name = query.bytes(1);
        record.token.value = values.token(2, true);
        record.token.domain = domain_.of_slot(values.slot(3));
        record.holder = query.bytes(4);
        record.who = query.bytes(5);
        record.why = query.bytes(6);
        records.push_back(std::move(record));
    }
    return records;
}

lock_view
lock_reader::view_of(const std::string& name, std::uint64_t waiters, std::size_t queue_max) {
    constexpr std::size_t holders_max = 1000;
    lock_view view;
    view.name = name;
    view.waiter_count = waiters;
    view.holders = parties(name, true, holders_max, 0);
    view.waiters = parties(name, false, queue_max, 0);
    return view;
}

std::vector<party_view> lock_reader::parties(
    const std::string& name, bool granted, std::size_t limit, std::uint64_t token
) {
    std::vector<party_view> found;
    sqlite_query query(
        files_.db(),
        "SELECT session.id, host, label, pid, token, since, entry.slot, mode, capacity, "
        "hold_max_ms,"
        " ends, entry.session, session.slot"
        " FROM entry LEFT JOIN session ON session.key = entry.session"
        " WHERE name = ? AND queued = ? AND (?3 = 0 OR token = ?3) ORDER BY ordinal LIMIT ?4"
    );
    query.bind(name).bind(std::uint64_t{granted ? 0u : 1u}).bind(token).bind(std::uint64_t{limit});
    while (query.step()) {
        party_view party;
        party.session = query.id(0);
        party.host = query.bytes(1);
        party.label = query.bytes(2);
        party.pid = query.signed_number(3);
        entry_values values(query);
        party.mode = values.mode(7, 8);
        party.slot = values.slot(6, party.mode, granted);
        if (granted)
            party.token = {values.token(4, true), domain_.of_slot(party.slot)};
        party.age = values.age(5, at_);
        party.hold_max = values.hold_max(9);
        party.left = left(query);
        found.push_back(std::move(party));
    }
    return found;
}

// The time until the session of a party is dead or its grant ends. The columns are those of
// `parties`.
clock::duration lock_reader::left(sqlite_query& query) {
    auto until = clock::time_point::max();
    const auto slot = query.number(12);
    if (slot < slot_file::capacity) {
        const slot_view seen = files_.slots()->view(static_cast<std::size_t>(slot));
        if (seen.key == query.number(11))
            until = seen.word.deadline();
    }
    if (const auto ends = query.signed_number(10); ends > 0)
        until = std::min(until, clock::time_point(clock::duration(ends)));
    return until == clock::time_point::max() ? clock::duration::max() : until - at_;
}

}  // namespace mortise::store_detail
