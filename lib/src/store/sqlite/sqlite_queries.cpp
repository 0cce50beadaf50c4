// SPDX-License-Identifier: BSL-1.0
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/entry_values.hpp"
#include "store/sqlite/slot_file.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::folder_guard;
using sqlite_detail::sqlite_query;
using sqlite_detail::transaction_scope;

outcome<session_view> sqlite_state::look() {
    return guarded<session_view>([&](outcome<session_view>& out) -> error_code {
        const auto own = session();
        if (!own || !own->alive())
            return errc::session_lost;
        out.value = view_of(*own);
        return {};
    });
}

// Reads under the lock, so that the change number belongs to what is read.
session_view sqlite_state::view_of(const own_session& own) {
    session_view view;
    std::uint64_t grants = 0;
    const folder_guard guard(*files_.folder());
    view.changes = own.view().changes;
    const auto at = now();
    {
        sqlite_query query(
            files_.db(),
            "SELECT request, name, queued, token, slot, queued = 0 AND EXISTS("
            "  SELECT 1 FROM entry AS other"
            "  WHERE other.name = entry.name AND queued = 1 AND session <> ?1), since"
            " FROM entry WHERE session = ?1 ORDER BY request"
        );
        query.bind(own.key());
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
                entry.age = values.age(6, at);
                ++grants;
            }
            view.entries.push_back(std::move(entry));
        }
    }
    if (files_.db().failed())
        fail();
    // A process that died between the counts and the commit left wrong counts.
    own.slots().set_counts(own.self().slot, grants, view.entries.size() - grants);
    return view;
}

outcome<nothing> sqlite_state::watch() {
    return guarded<nothing>([&](outcome<nothing>&) -> error_code {
        const auto own = session();
        if (!own || !own->alive())
            return errc::session_lost;
        // Arms under the lock: whatever was committed earlier can be read by now.
        const folder_guard guard(*files_.folder());
        own->slots().arm(own->self().slot);
        return {};
    });
}

// Looks under the lock: whoever died between counting its change and its commit changed nothing, or
// told nobody.
outcome<nothing> sqlite_state::look_stirred() {
    return guarded<nothing>([&](outcome<nothing>& out) -> error_code {
        const auto own = session();
        if (!own)
            return {};
        const folder_guard guard(*files_.folder());
        if (own->slots().stirred(own->self().slot)) {
            out.notices.emplace_back();
            out.notices.back().kind = store_event::kind::changed;
        }
        return {};
    });
}

outcome<nothing> sqlite_state::verify(const std::vector<hint>& hints) {
    return guarded<nothing>([&](outcome<nothing>& out) -> error_code {
        const auto own = session();
        if (!own)
            return {};
        bool look = false;
        for (const auto& each : hints) {
            if (each.type == hint::kind::changed)
                look = true;
            else if (each.type == hint::kind::granted || each.type == hint::kind::contended)
                verify_one(each, *own, out.notices);
        }
        if (!own->alive()) {
            out.notices.clear();
            notice lost;
            lost.kind = store_event::kind::session_lost;
            lost.why = errc::session_lost;
            out.notices.push_back(lost);
        } else if (look) {
            out.notices.emplace_back();
        }
        if (files_.db().failed())
            fail();
        return {};
    });
}

// Reads without the lock: the commit came before the hint that tells of it.
void sqlite_state::verify_one(
    const hint& hint, const own_session& own, std::vector<notice>& notices
) {
    sqlite_query query(
        files_.db(),
        "SELECT token, slot, EXISTS("
        "  SELECT 1 FROM entry AS other"
        "  WHERE other.name = entry.name AND queued = 1 AND session <> ?1)"
        " FROM entry WHERE session = ?1 AND request = ?2 AND queued = 0"
    );
    if (!query.bind(own.key()).bind(hint.request).step())
        return;
    notice found;
    found.kind = hint.type == hint::kind::granted ? store_event::kind::granted
                                                  : store_event::kind::contended;
    found.id = hint.request;
    entry_values values(query);
    found.token = values.token(0, true);
    found.slot = values.slot(1);
    found.contended = hint.type == hint::kind::contended || query.number(2) != 0;
    if (!files_.db().failed())
        notices.push_back(found);
}

outcome<std::vector<lock_view>>
sqlite_state::list(const std::string& after, std::size_t limit, std::size_t queue_max) {
    if (!files_.is_open() && !files_.exists())
        return {};  // Nobody ever locked anything there, and a look must not make a store.
    return guarded<std::vector<lock_view>>([&](outcome<std::vector<lock_view>>& out) {
        reap_now({}, out.notices);
        const auto at = now();
        {
            // Lets several statements see one state of the database.
            const transaction_scope scope(files_.db());
            files_.db().step("BEGIN");
            sqlite_query names(
                files_.db(),
                "SELECT name, sum(queued = 1) FROM entry WHERE name > ? GROUP BY name"
                " ORDER BY name LIMIT ?"
            );
            names.bind(after).bind(std::uint64_t{limit});
            while (names.step()) {
                out.value.push_back(view_of(names.name(0), names.number(1), queue_max, at));
            }
        }
        if (files_.db().failed())
            fail();
        return error_code();
    });
}

outcome<std::optional<lock_view>>
sqlite_state::inspect(const std::string& name, std::size_t queue_max) {
    if (!files_.is_open() && !files_.exists())
        return {};
    return guarded<std::optional<lock_view>>([&](outcome<std::optional<lock_view>>& out) {
        reap_now({}, out.notices);
        const auto at = now();
        {
            const transaction_scope scope(files_.db());
            files_.db().step("BEGIN");
            sqlite_query counts(
                files_.db(), "SELECT count(*), sum(queued = 1) FROM entry WHERE name = ?"
            );
            if (counts.bind(name).step() && counts.number(0) != 0)
                out.value = view_of(name, counts.number(1), queue_max, at);
        }
        if (files_.db().failed())
            fail();
        return error_code();
    });
}

lock_view sqlite_state::view_of(
    const std::string& name, std::uint64_t waiters, std::size_t queue_max, clock::time_point at
) {
    constexpr std::size_t holders_max = 1000;
    lock_view view;
    view.name = name;
    view.waiter_count = waiters;
    view.holders = parties(name, true, holders_max, at);
    view.waiters = parties(name, false, queue_max, at);
    return view;
}

std::vector<party_view> sqlite_state::parties(
    const std::string& name,
    bool granted,
    std::size_t limit,
    clock::time_point at,
    std::uint64_t token
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
        party.age = values.age(5, at);
        party.hold_max = values.hold_max(9);
        party.left = left(query, at);
        found.push_back(std::move(party));
    }
    return found;
}

// The time until the session of a party is dead or its grant ends. The columns are those of
// `parties`.
clock::duration sqlite_state::left(sqlite_query& query, clock::time_point at) {
    auto until = clock::time_point::max();
    const auto slot = query.number(12);
    if (slot < slot_file::capacity) {
        const slot_view seen = files_.slots()->view(static_cast<std::size_t>(slot));
        if (seen.key == query.number(11))
            until = seen.word.deadline();
    }
    if (const auto ends = query.signed_number(10); ends > 0)
        until = std::min(until, clock::time_point(clock::duration(ends)));
    return until == clock::time_point::max() ? clock::duration::max() : until - at;
}

outcome<std::vector<break_record>>
sqlite_state::breaks(const std::string& name, std::size_t limit) {
    if (!files_.is_open() && !files_.exists())
        return {};
    return guarded<std::vector<break_record>>([&](outcome<std::vector<break_record>>& out) {
        {
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
                out.value.push_back(std::move(record));
            }
        }
        if (files_.db().failed())
            fail();
        return error_code();
    });
}

}  // namespace mortise::store_detail
