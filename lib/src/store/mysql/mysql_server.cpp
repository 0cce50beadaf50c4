// SPDX-License-Identifier: BSL-1.0
#include "store/mysql/mysql_server.hpp"

#include "store/mysql/statement_text.hpp"

#include <chrono>
#include <limits>
#include <utility>

namespace mortise::store_detail {
namespace {

// The run of the server must be known before anything else: after a restart `mortise_run` is empty.
// If the log was flushed by each commit and this is the same server, nothing was forgotten.
// Otherwise, nothing is granted until those who may believe in a lease have stopped to do so.
constexpr const char* begin_run =
    "BEGIN;SELECT durable AND server=@@server_id AND @@innodb_flush_log_at_trx_commit=1 INTO "
    "@whole "
    "FROM mortise_meta WHERE one=1 FOR UPDATE;"
    "SELECT COUNT(*) INTO @runs FROM mortise_run WHERE server=@@server_id;"
    "UPDATE mortise_meta SET incarnation={incarnation},quarantine=GREATEST(quarantine,"
    "IFNULL((SELECT LEAST(MAX(until)," MORTISE_NOW "+MAX(ttl)*1000) FROM mortise_ttl "
    "WHERE until>" MORTISE_NOW "),0)) WHERE one=1 AND @runs=0 AND @whole=0;"
    "UPDATE mortise_meta SET server=@@server_id,durable=@@innodb_flush_log_at_trx_commit=1 "
    "WHERE one=1 AND (@runs=0 OR @@innodb_flush_log_at_trx_commit<>1);"
    "UPDATE mortise_session s JOIN mortise_meta m SET s.command=0,s.bell=0,"
    "s.opens=GREATEST(s.opens,m.quarantine) WHERE @runs=0;"
    "DELETE FROM mortise_run WHERE @runs=0;"
    "INSERT INTO mortise_run SELECT 1,@@server_id,quarantine FROM mortise_meta "
    "WHERE one=1 AND @runs=0;COMMIT;";

// The older connection of the session, which must not act any longer, and its bell.
constexpr const char* find_session =
    "SET @key=NULL,@bell=0,@command=0,@own=0;"
    "SELECT id,bell,IF(command<>CONNECTION_ID(),command,0) INTO @key,@bell,@command "
    "FROM mortise_session WHERE sid={sid}";

// The lock that a session's command connection keeps: it is given up when all that the connection
// had under way has ended. The name is the server's, so it must differ from that of other stores.
// A number that is no result (error 1242) says that the older connection is still there.
constexpr const char* own_session =
    "BEGIN;UPDATE mortise_meta SET last_key=GREATEST(last_key+1," MORTISE_NOW ") "
    "WHERE one=1 AND @key IS NULL AND {generation}=1;"
    "INSERT INTO mortise_session(id,sid,generation,ttl,deadline,host,label,pid) "
    "SELECT last_key,{sid},{generation},{ttl}," MORTISE_NOW "+{ttl}*1000,'','',0 FROM mortise_meta "
    "WHERE one=1 AND @key IS NULL AND {generation}=1;COMMIT;"
    "SELECT id INTO @key FROM mortise_session WHERE sid={sid};"
    "SELECT GET_LOCK(CONCAT('mortise-',LEFT(HEX(store),12),'-',@key),1) INTO @own "
    "FROM mortise_meta WHERE one=1 AND @key IS NOT NULL;"
    "DO (SELECT 1 UNION ALL SELECT 2 FROM mortise_meta WHERE @key IS NOT NULL AND NOT @own<=>1);";

constexpr const char* note_ttl =
    "INSERT INTO mortise_ttl SELECT {ttl}," MORTISE_NOW "+{ttl}*1000+60000000 FROM mortise_meta "
    "WHERE NOT EXISTS(SELECT 1 FROM mortise_ttl WHERE ttl={ttl} AND until>" MORTISE_NOW
    "+{ttl}*1000) ON DUPLICATE KEY UPDATE until=VALUES(until);";

constexpr const char* go_on =
    "BEGIN;SELECT quarantine INTO @opens FROM mortise_meta WHERE one=1 FOR UPDATE;"
    "UPDATE mortise_session SET generation={generation},ttl={ttl},deadline=" MORTISE_NOW
    "+{ttl}*1000,command=CONNECTION_ID(),bell=0,host={host},label={label},pid={pid},"
    "opens=IF(EXISTS(SELECT 1 FROM mortise_watch)," MORTISE_NEVER ",@opens) "
    "WHERE id=@key AND dead=0 AND deadline>" MORTISE_NOW " AND generation<={generation};COMMIT;"
    "SELECT s.id `key`,HEX(m.incarnation) incarnation,m.domain domain,"
    "GREATEST(IFNULL(r.quarantine," MORTISE_NOW "+1000000)-" MORTISE_NOW ",0) quarantine "
    "FROM mortise_session s JOIN mortise_meta m LEFT JOIN mortise_run r ON r.server=@@server_id "
    "WHERE s.id=@key AND s.generation={generation} AND s.command=CONNECTION_ID() AND s.dead=0";

// Deadlines that lie further ahead than they can are brought back: the server's clock was set back.
// `mortise_run` without a row: the server was restarted, and each client proves its session anew.
// Each heartbeat looks at the next few locks. Old ones, that nobody uses, are deleted only when the
// floor has been above their bases for a while: a statement under way may not have seen it.
constexpr const char* beat_text =
    "UPDATE mortise_session SET deadline=" MORTISE_NOW "+ttl*1000 WHERE id={s} AND generation={g} "
    "AND dead=0 AND deadline>" MORTISE_NOW ";"
    "INSERT INTO mortise_ttl SELECT s.ttl,s.deadline+60000000 FROM mortise_session s WHERE "
    "s.id={s} "
    "AND NOT EXISTS(SELECT 1 FROM mortise_ttl t WHERE t.ttl=s.ttl AND t.until>=s.deadline) "
    "ON DUPLICATE KEY UPDATE until=GREATEST(until,VALUES(until));"
    "SELECT s.changes changes,HEX(m.incarnation) incarnation,"
    "EXISTS(SELECT 1 FROM mortise_watch w WHERE w.session=s.id) watches,"
    "GREATEST(IFNULL(r.quarantine," MORTISE_NOW "+1000000)-" MORTISE_NOW ",0) quarantine,"
    "NULLIF(LEAST("
    "IFNULL((SELECT MIN(deadline) FROM mortise_session o WHERE o.id<>s.id AND o.dead=0 AND "
    "o.deadline>" MORTISE_NOW "),{never}),"
    "IFNULL((SELECT MIN(ends) FROM mortise_waiter w WHERE w.session<>s.id AND w.ends>" MORTISE_NOW
    "),{never}),"
    "IF(IFNULL(r.quarantine,0)>" MORTISE_NOW ",r.quarantine,{never})),{never})-" MORTISE_NOW
    " next_deadline "
    "FROM mortise_session s JOIN mortise_meta m LEFT JOIN mortise_run r ON r.server=@@server_id "
    "WHERE s.id={s} AND s.generation={g} AND s.dead=0 AND s.deadline>" MORTISE_NOW ";"
    "SELECT id `key` FROM mortise_session WHERE id<>{s} AND (dead=1 OR deadline<=" MORTISE_NOW
    ") LIMIT 16;"
    "UPDATE mortise_session SET deadline=" MORTISE_NOW "+ttl*1000 "
    "WHERE deadline>" MORTISE_NOW "+ttl*1000;"
    "SELECT DISTINCT name FROM mortise_waiter WHERE ends<=" MORTISE_NOW " LIMIT 16;"
    "SELECT o.id `key`,HEX(o.sid) id FROM mortise_session o JOIN mortise_session s USING(host) "
    "WHERE s.id={s} AND o.id<>s.id AND host<>'' AND o.dead=0 AND o.deadline>" MORTISE_NOW
    " ORDER BY o.id<s.id,o.id LIMIT 3;"
    "UPDATE mortise_meta SET floor=GREATEST(floor," MORTISE_NOW "-60000000),floor_at=" MORTISE_NOW
    " WHERE one=1 AND floor_at<" MORTISE_NOW "-30000000;"
    "SELECT IF(floor_at<" MORTISE_NOW
    "-10000000,floor,0) INTO @floor FROM mortise_meta WHERE one=1;"
    "SELECT name old FROM (SELECT * FROM mortise_lock WHERE name>@after ORDER BY name LIMIT 64) "
    "page "
    "WHERE " MORTISE_OLD ";"
    "SELECT MAX(name) INTO @last FROM (SELECT name FROM mortise_lock WHERE name>@after ORDER BY "
    "name "
    "LIMIT 64) page;SET @after=IFNULL(@last,'');"
    "SELECT 1 reopen FROM mortise_session WHERE id={s} AND opens=" MORTISE_NEVER
    " AND NOT EXISTS(SELECT 1 FROM mortise_watch)";

constexpr std::size_t text_max = 1'024;

std::string cut(const std::string& text) {
    return text.substr(0, text_max);
}

}  // namespace

std::string bytes_of(const random_id& id) {
    constexpr int bits = 64;
    constexpr int of_byte = 8;
    std::string bytes;
    for (const auto half : {id.high, id.low}) {
        for (int shift = bits - of_byte; shift >= 0; shift -= of_byte)
            bytes += static_cast<char>(half >> shift & 0xff);
    }
    return bytes;
}

mysql_server::mysql_server(mysql_store_config config) : config_(std::move(config)) {}

store_traits mysql_server::traits() const noexcept {
    store_traits traits;
    traits.scheme = "mysql";
    traits.remote = true;
    traits.strength =
        facts_->flushes ? token_strength::strict : token_strength::durable_if_configured;
    traits.push = traits.fair = traits.server_clock = true;
    traits.shared = traits.permits = traits.hold_max = traits.extend = true;
    traits.counts = false;
    traits.ttl_min = std::chrono::milliseconds(100);
    traits.ttl_max = std::chrono::hours(24);
    return traits;
}

std::shared_ptr<sql_wire> mysql_server::make_wire(
    sql_use use,
    const asio::any_io_executor& strand,
    const std::shared_ptr<coro::time_source>&,
    sql_wire_events events
) {
    return make_mysql_store_wire(use, strand, config_, facts_, std::move(events));
}

sql_message mysql_server::prove(const session_start& start) const {
    const auto sid = bytes_of(start.id);
    const auto incarnation = bytes_of(random_id::draw());
    const auto host = cut(start.host);
    const auto label = cut(start.label);
    const std::initializer_list<boost::mysql::format_arg> values = {
        {"sid", as_bytes(sid)},
        {"incarnation", as_bytes(incarnation)},
        {"generation", start.generation},
        {"ttl", start.ttl.count()},
        {"host", as_bytes(host)},
        {"label", as_bytes(label)},
        {"pid", start.pid}};
    sql_message message;
    message.add(write_statement(std::string(begin_run) + find_session, values));
    message.add("KILL CONNECTION @bell").add("KILL CONNECTION @command");
    message.answer();
    message.add(write_statement(std::string(own_session) + note_ttl + go_on, values));
    return message;
}

sql_message mysql_server::beat(sql_actor actor) const {
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    sql_message message;
    message.add(
        write_statement(beat_text, {{"s", actor.key}, {"g", actor.generation}, {"never", never}})
    );
    return message;
}

// The deadline is compared in the same statement: a heartbeat under way wins or loses.
sql_message mysql_server::mark_dead(core::session_key key) const {
    sql_message message;
    message.add(write_statement(
        "BEGIN;UPDATE mortise_session SET dead=1 WHERE id={s} AND dead=0 AND deadline<=" MORTISE_NOW
        ";SELECT COUNT(*) INTO @alive FROM mortise_session WHERE id={s} AND dead=0;"
        "DELETE FROM mortise_watch WHERE session={s} AND @alive=0;COMMIT;SELECT @alive=0 dead",
        {{"s", key}}
    ));
    return message;
}

sql_message mysql_server::end(sql_actor actor) const {
    sql_message message;
    message.add(write_statement(
        "BEGIN;UPDATE mortise_session SET dead=1 WHERE id={s};"
        "DELETE FROM mortise_watch WHERE session={s};COMMIT",
        {{"s", actor.key}}
    ));
    return message;
}

// Forgets all of the dead that have no entries, that one among them: who should have forgotten
// another may have ended before. They are found without locks on the rows of the living.
sql_message mysql_server::forget([[maybe_unused]] core::session_key key) const {
    sql_message message;
    message.add("DELETE s FROM mortise_session s JOIN (SELECT DISTINCT id FROM mortise_session d "
                "WHERE dead=1 AND NOT EXISTS(SELECT 1 FROM mortise_lock l WHERE l.session=d.id "
                "AND l.held=1) AND NOT EXISTS(SELECT 1 FROM mortise_waiter w "
                "WHERE w.session=d.id)) gone USING(id)");
    return message;
}

// The short ways under way when the row is written, which tell no watcher, have ended when the lock
// of the table is given: so the look that follows misses nothing.
sql_message mysql_server::watch(sql_actor actor) const {
    sql_message message;
    message.add(write_statement(
        "SET @watcher=NULL;BEGIN;SELECT one INTO @one FROM mortise_meta WHERE one=1 FOR UPDATE;"
        "SELECT id INTO @watcher FROM mortise_session WHERE id={s} AND generation={g} AND dead=0 "
        "AND "
        "deadline>" MORTISE_NOW " FOR UPDATE;"
        "INSERT IGNORE INTO mortise_watch SELECT {s} FROM mortise_meta WHERE @watcher={s};"
        "UPDATE mortise_session SET opens=" MORTISE_NEVER " WHERE @watcher={s};COMMIT;"
        "SELECT notices FROM mortise_session WHERE id=@watcher",
        {{"s", actor.key}, {"g", actor.generation}}
    ));
    message.watches = true;
    message.add("LOCK TABLES mortise_lock WRITE;UNLOCK TABLES");
    return message;
}

}  // namespace mortise::store_detail
