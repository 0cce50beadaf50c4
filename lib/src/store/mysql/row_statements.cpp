// SPDX-License-Identifier: BSL-1.0
// Statements that read and write all rows of a lock.
#include "store/break_note.hpp"
#include "store/mysql/mysql_server.hpp"
#include "store/mysql/statement_text.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace mortise::store_detail {
namespace {

using std::chrono::microseconds;

// A row of a lock that was made to be locked has no stamp. `rest` has two bits: the lock is mixed;
// its row is reserved (see `load`).
#define MORTISE_LOCK_COLUMNS                                                                       \
    "k.name name,NULLIF(l.stamp,0) stamp,IF(l.held=1,l.session,NULL) holder,l.request "            \
    "request,l.base base,"                                                                         \
    "l.queue queue,l.last last,l.rest&1 rest," MORTISE_NOW " now,m.floor floor,m.domain domain,"   \
    "GREATEST(IFNULL(r.quarantine," MORTISE_NOW "+1000000)-" MORTISE_NOW ",0) quarantine"
#define MORTISE_ENTRY_COLUMNS                                                                      \
    "w.ordinal ordinal,w.granted granted,w.session session,w.request id,w.mode mode,"              \
    "w.capacity capacity,w.hold_max hold_max,w.token token,w.slot slot,w.since since"
#define MORTISE_NO_ENTRY(session)                                                                  \
    "NULL ordinal,NULL granted," session " session,NULL id,NULL mode,NULL capacity,NULL hold_max," \
    "NULL token,NULL slot,NULL since"
#define MORTISE_PARTY_COLUMNS                                                                      \
    "HEX(s.sid) session_id,s.host host,s.label label,s.pid pid,s.generation generation,s.ttl ttl," \
    "s.dead dead,s.deadline deadline"
#define MORTISE_STORE_ROWS                                                                         \
    " JOIN mortise_meta m ON m.one=1 LEFT JOIN mortise_run r ON r.server=@@server_id "

#define MORTISE_THIS "(SELECT {n} name) k LEFT JOIN mortise_lock l ON l.name=k.name"
#define MORTISE_SOME                                                                               \
    "(SELECT name FROM mortise_lock WHERE name>{after} AND "                                       \
    "(held=1 OR queue>0 OR rest&1<>0) ORDER BY name LIMIT {limit}) k "                             \
    "JOIN mortise_lock l ON l.name=k.name"

// One statement, which sees one snapshot: the entries, and the lock with its holder.
#define MORTISE_READ(locks)                                                                        \
    "(SELECT " MORTISE_LOCK_COLUMNS "," MORTISE_ENTRY_COLUMNS "," MORTISE_PARTY_COLUMNS            \
    " FROM " locks MORTISE_STORE_ROWS "JOIN mortise_waiter w ON w.name=k.name "                    \
    "LEFT JOIN mortise_session s ON s.id=w.session) UNION ALL "                                    \
    "(SELECT " MORTISE_LOCK_COLUMNS "," MORTISE_NO_ENTRY("IF(l.held=1,l.session,NULL)"             \
    ) "," MORTISE_PARTY_COLUMNS " FROM " locks MORTISE_STORE_ROWS                                  \
      "LEFT JOIN mortise_session s ON l.held=1 AND s.id=l.session)"

constexpr const char* load_text = MORTISE_READ(MORTISE_THIS);
constexpr const char* load_with_actor =
    MORTISE_READ(MORTISE_THIS) " UNION ALL (SELECT " MORTISE_LOCK_COLUMNS
                               "," MORTISE_NO_ENTRY("{s}") "," MORTISE_PARTY_COLUMNS
                                                           " FROM " MORTISE_THIS MORTISE_STORE_ROWS
                                                           "JOIN mortise_session s ON s.id={s})";
constexpr const char* list_text = MORTISE_READ(MORTISE_SOME) " ORDER BY name";

// The reservation is a row's own, and ends by time: nothing is locked between this message and the
// next, so who stops there holds nobody up for longer. Those who want it line up at a named lock. A
// number that is too large (error 1690) says that the row is reserved by somebody else.
constexpr const char* reserve_text =
    "SELECT GET_LOCK(CONCAT('mortise-row-',LEFT(SHA1({n}),24)),1) INTO @turn;SET @got=0;"
    "INSERT INTO mortise_lock(name,stamp) VALUES({n},0) ON DUPLICATE KEY UPDATE stamp=stamp;"
    "UPDATE mortise_lock SET rest=rest|2,locker=CONNECTION_ID(),until=" MORTISE_NOW "+500000 "
    "WHERE name={n} AND (rest<2 OR until<=" MORTISE_NOW " OR locker=CONNECTION_ID());"
    "SET @got=ROW_COUNT();DO 9223372036854775807+(@got=0);";

constexpr const char* begin_store =
    "SELECT stamp,rest<2 OR until<=" MORTISE_NOW " OR locker=CONNECTION_ID(),IF(held=1,session,"
    "0),request INTO @stamp,@free,@hs,@hr "
    "FROM mortise_lock WHERE name={n} FOR UPDATE;"
    "SELECT COUNT(*) INTO @alive FROM (SELECT 1) one LEFT JOIN mortise_session s ON s.id={s} "
    "WHERE {s}=0 OR (s.generation={g} AND s.dead=0 AND s.deadline>" MORTISE_NOW ");"
    "SET @ok=(@alive=1 AND @free=1 AND @stamp<=>{expected});";

constexpr const char* write_entry =
    "REPLACE INTO mortise_waiter(name,ordinal,session,request,since,granted,mode,capacity,hold_max,"
    "token,slot,ends,stamp) SELECT {n},{w},{s},{r},{since},{granted},{mode},{capacity},{hold},"
    "{token},"
    "{slot},{ends},IF({s}=@hs AND {r}=@hr,@stamp,0) FROM mortise_meta WHERE @ok=1;";

constexpr const char* write_lock =
    "UPDATE mortise_lock SET "
    "stamp={o},session=IFNULL({holder},session),held={held},request={r},base={b},queue={queue},"
    "last={last},rest={rest},locker=0,until=0 WHERE @ok=1 AND name={n};";

constexpr const char* write_record =
    "INSERT INTO mortise_break(at,name,token,domain,holder,who,why) "
    "SELECT {at},{n},{token},{domain},{holder},{who},{why} FROM mortise_meta WHERE @ok=1;"
    "DELETE FROM mortise_break WHERE @ok=1 AND id+{kept}<=LAST_INSERT_ID();";

// clang-format off
constexpr const char* entries_text =
    "SELECT IFNULL(s.dead=0 AND s.deadline>" MORTISE_NOW ",0) alive,"
    "IFNULL(s.generation,0) generation,IFNULL(s.changes,0) changes," MORTISE_NOW " now,e.* "
    "FROM (SELECT {s} own) k LEFT JOIN mortise_session s ON s.id=k.own LEFT JOIN ("
    "(SELECT session,name,0 ordinal,1 granted,request id,0 mode,0 capacity,NULL hold_max,"
    "base*{one} token,0 slot,NULL since,"
    "queue>0 AND " MORTISE_OTHERS_WAIT("mortise_lock") " contended "
    "FROM mortise_lock WHERE session={s} AND held=1) "
    "UNION ALL (SELECT w.session,w.name,w.ordinal,w.granted,w.request,w.mode,w.capacity,w.hold_max,"
    "w.token,w.slot,w.since,EXISTS(SELECT 1 FROM mortise_waiter o WHERE o.name=w.name AND "
    "o.granted=0 AND o.session<>w.session) FROM mortise_waiter w WHERE w.session={s}) "
    "LIMIT {limit}) e ON e.session=k.own ORDER BY e.name,e.ordinal";
// clang-format on

std::int64_t microseconds_of(clock::time_point at) {
    return std::chrono::duration_cast<microseconds>(at.time_since_epoch()).count();
}

std::int64_t limit_of(std::size_t limit) {
    constexpr std::size_t most = 1'000'000'000;
    return static_cast<std::int64_t>(std::min(limit, most));
}

std::string text_of(const std::string& name, const core::lock_entry& entry) {
    std::optional<std::int64_t> hold_max;
    std::optional<std::int64_t> ends;
    if (entry.hold_max != std::chrono::milliseconds::max())
        hold_max = entry.hold_max.count();
    if (entry.ends() != clock::time_point::max())
        ends = microseconds_of(entry.ends());
    return write_statement(
        write_entry,
        {{"n", as_bytes(name)},
         {"w", entry.ordinal},
         {"s", entry.session},
         {"r", entry.id},
         {"since", microseconds_of(entry.since)},
         {"granted", entry.granted ? 1 : 0},
         {"mode", static_cast<int>(entry.mode.type())},
         {"capacity", entry.mode.capacity()},
         {"hold", hold_max},
         {"token", entry.token},
         {"slot", entry.slot},
         {"ends", ends}}
    );
}

std::string text_of(const break_record& record) {
    using std::chrono::duration_cast;
    return write_statement(
        write_record,
        {{"at", duration_cast<microseconds>(record.at.time_since_epoch()).count()},
         {"n", as_bytes(record.name)},
         {"token", record.token.value},
         {"domain", as_bytes(record.token.domain.name())},
         {"holder", as_bytes(record.holder)},
         {"who", as_bytes(record.who)},
         {"why", as_bytes(record.why)},
         {"kept", breaks_kept}}
    );
}

sql_stamp mark_of(const sql_push& push) {
    if (push.type == store_event::kind::granted)
        return mark_granted;
    return push.type == store_event::kind::contended ? mark_contended : 0;
}

// The stamp of a plain lock, with what the holder's bell must tell.
sql_stamp stamp_of(const sql_lock_change& change) {
    sql_stamp stamp = change.row.stamp;
    for (const auto& each : change.pushes) {
        if (change.row.holder != 0 && each.to == change.row.holder && each.id == change.row.request)
            stamp |= mark_of(each);
    }
    return stamp;
}

// The marks of the grants of a mixed lock.
std::string marks_text(const sql_lock_change& change) {
    std::string text;
    for (const auto& each : change.pushes) {
        if (change.row.rest == 0 || mark_of(each) == 0)
            continue;
        text += write_statement(
            "UPDATE mortise_waiter SET stamp={o} WHERE @ok=1 AND name={n} AND session={s} AND "
            "request={r};",
            {{"n", as_bytes(change.name)},
             {"o", change.row.stamp | mark_of(each)},
             {"s", each.to},
             {"r", each.id}}
        );
    }
    return text;
}

std::string row_text(const sql_lock_change& change) {
    const auto& row = change.row;
    std::optional<std::uint64_t> holder;
    if (row.holder != 0)
        holder = row.holder;
    return write_statement(
        write_lock,
        {{"n", as_bytes(change.name)},
         {"o", stamp_of(change)},
         {"holder", holder},
         {"held", holder ? 1 : 0},
         {"r", row.request},
         {"b", row.base},
         {"queue", row.queue},
         {"last", row.last},
         {"rest", row.rest}}
    );
}

// Advances sessions, in the order of their keys, and names the connections to ring afterwards:
// those of the sessions that get pushes, and of the watchers, who watch no longer.
std::string ring_text(const sql_lock_change& change) {
    auto counts = change.changes;
    std::string keys = "0";
    for (const auto& each : change.pushes) {
        counts.try_emplace(each.to, 0);
        keys += "," + std::to_string(each.to);
    }
    std::string text;
    for (const auto& [key, count] : counts) {
        text += write_statement(
            "UPDATE mortise_session SET changes=changes+{count},rings=rings+1 "
            "WHERE @ok=1 AND id={s};",
            {{"count", count}, {"s", key}}
        );
    }
    const std::string watchers = "(SELECT session FROM mortise_watch)";
    if (change.visible)
        text += "UPDATE mortise_session SET rings=rings+1,notices=notices+1 WHERE @ok=1 AND id IN" +
                watchers + ";";
    else if (change.pushes.empty())
        return text;
    text += "SELECT s.bell ring FROM mortise_session s WHERE @ok=1 AND s.bell<>0 AND (s.id IN(" +
            keys + ")";
    if (!change.visible)
        return text + ");";
    return text + " OR s.id IN" + watchers +
           ");DELETE FROM mortise_watch WHERE @ok=1;"
           "SELECT 1 reopen FROM mortise_meta WHERE ROW_COUNT()>0;";
}

}  // namespace

sql_message mysql_server::load(sql_actor actor, const std::string& name, row_lock mode) const {
    std::string text = mode == row_lock::taken ? reserve_text : "";
    text += actor.key != 0 ? load_with_actor : load_text;
    sql_message message;
    message.add(write_statement(text, {{"n", as_bytes(name)}, {"s", actor.key}}));
    return message;
}

sql_message mysql_server::store(const sql_lock_change& change, row_lock) const {
    const auto name = as_bytes(change.name);
    std::string text = "BEGIN;SET @stamp=NULL,@free=0;";
    if (change.expected == 0) {
        text += write_statement(
            "INSERT INTO mortise_lock(name,stamp) VALUES({n},0) ON DUPLICATE KEY UPDATE "
            "stamp=stamp;",
            {{"n", name}}
        );
    }
    text += write_statement(
        begin_store,
        {{"n", name},
         {"s", change.actor.key},
         {"g", change.actor.generation},
         {"expected", change.expected}}
    );
    for (const auto& each : change.writes)
        text += text_of(change.name, each);
    for (const auto ordinal : change.erased) {
        text += write_statement(
            "DELETE FROM mortise_waiter WHERE @ok=1 AND name={n} AND ordinal={w};",
            {{"n", name}, {"w", ordinal}}
        );
    }
    text += row_text(change) + marks_text(change);
    // A base ahead of the clock: the row may be deleted before the clock gets there.
    text += write_statement(
        "SELECT @ok=1 AND {b}>=" MORTISE_NOW " INTO @ahead;"
        "UPDATE mortise_meta SET floor=GREATEST(floor,{b}+1) WHERE one=@ahead;",
        {{"b", change.row.base}}
    );
    if (change.record)
        text += text_of(*change.record);
    text += write_statement(
        "SELECT @alive=1 alive,(@ok=1 OR @stamp<=>{o}) written;", {{"o", stamp_of(change)}}
    );
    sql_message message;
    message.add(text + ring_text(change) + "COMMIT");
    return message;
}

sql_message mysql_server::entries(core::session_key key, std::size_t limit) const {
    constexpr std::int64_t one_base = std::int64_t(1) << fencing_token::sequence_bits;
    sql_message message;
    message.add(
        write_statement(entries_text, {{"s", key}, {"limit", limit_of(limit)}, {"one", one_base}})
    );
    return message;
}

sql_message mysql_server::list(const std::string& after, std::size_t limit) const {
    sql_message message;
    message.add(write_statement(list_text, {{"after", as_bytes(after)}, {"limit", limit_of(limit)}})
    );
    return message;
}

sql_message mysql_server::breaks(const std::string& name, std::size_t limit) const {
    std::string text = "SELECT at,name,token,domain,holder,who,why FROM mortise_break ";
    if (!name.empty())
        text += "WHERE name={n} ";
    sql_message message;
    message.add(write_statement(
        text + "ORDER BY id DESC LIMIT {limit}", {{"n", as_bytes(name)}, {"limit", limit_of(limit)}}
    ));
    return message;
}

}  // namespace mortise::store_detail
