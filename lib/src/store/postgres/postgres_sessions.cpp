// SPDX-License-Identifier: BSL-1.0
// Sessions, and what people and watchers see.
#include "store/postgres/postgres_schema.hpp"
#include "store/postgres/postgres_server.hpp"

#include <algorithm>
#include <limits>

namespace mortise::store_detail {
namespace {

// How long before it is due a row of the ledger of TTLs is written again, in microseconds: few
// heartbeats then write to a logged table.
constexpr std::int64_t ahead = 60'000'000;

// Counts those who watch anew. The row is locked by a statement of its own, so that the count sees
// who came while it waited.
void count_watchers(sql_message& message) {
    message.add("SELECT FROM run WHERE watched > 0 FOR UPDATE");
    message.add("UPDATE run SET watched = (SELECT count(*) FROM session WHERE watches)"
                " WHERE watched > 0");
}

std::int64_t limited(std::size_t limit) {
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int64_t>(std::min(limit, most));
}

}  // namespace

// An older connection of the session is ended first: a statement of it that waits for a row would
// take effect after this one has looked. A later generation never makes a row: whoever forgets the
// session at this moment would be undone.
sql_message postgres_server::prove(const session_start& start) const {
    static const std::string end_older =
        "SELECT pg_terminate_backend(s.process::int, 2000)"
        " FROM session s, LATERAL pg_stat_get_activity(s.process::int) a"
        " WHERE s.id = $1 AND s.process <> pg_backend_pid()"
        " AND a.backend_start = s.process_start";
    static const std::string ledger = expanded(
        "INSERT INTO lease_time AS t VALUES ($1::bigint, {us} + $1 * 1000 + $2::bigint)"
        " ON CONFLICT (ttl) DO UPDATE SET until = excluded.until WHERE t.until < {us} + $1 * 1000"
    );
    static const std::string proved = expanded(R"(
WITH b AS (SELECT pg_backend_pid() AS process, backend_start AS process_start
  FROM pg_stat_get_activity(pg_backend_pid())),
u AS (UPDATE session s SET generation = $2::bigint, ttl = $3::bigint,
    deadline = {us} + $3::bigint * 1000,
    process = b.process, process_start = b.process_start
  FROM b WHERE s.id = $1 AND s.generation <= $2 AND {lives} RETURNING s.key),
n AS (INSERT INTO session (key, id, generation, ttl, deadline, dead, changes, watches, process,
    process_start, host, label, pid)
  SELECT nextval('session_key'), $1, $2, $3, {us} + $3 * 1000, false, 0, false,
    process, process_start, $4, $5, $6
  FROM b WHERE $2 = 1 AND NOT EXISTS (SELECT FROM session WHERE id = $1)
  ON CONFLICT DO NOTHING RETURNING key)
SELECT key, incarnation, domain, greatest(quarantine - {us}, 0) AS quarantine
FROM (SELECT key FROM u UNION ALL SELECT key FROM n) p, run, store)");
    // A call that waits for a row is silent, and the patience with that is a third of the TTL.
    const auto row_wait = std::clamp<std::int64_t>(start.ttl.count() * 3 / 10, 90, 1'800);
    const std::string id = start.id.text();
    sql_message message;
    message.add("SELECT set_config('lock_timeout', $1, false)", std::to_string(row_wait) + "ms");
    message.end().add(end_older, id).end();
    message.add(ledger, start.ttl.count(), ahead);
    message.answer().add(
        proved,
        id,
        as_signed(start.generation),
        start.ttl.count(),
        db::blob(start.host),
        db::blob(start.label),
        start.pid
    );
    return message.end();
}

// The last statement reads some pages of the table, which are others each time, so that its cost
// does not depend on the number of locks.
sql_message postgres_server::beat(sql_actor actor) const {
    static const std::string ledger =
        expanded("UPDATE lease_time t SET until = {us} + t.ttl * 1000 + $2 FROM session s"
                 " WHERE s.key = $1 AND t.ttl = s.ttl AND t.until < {us} + s.ttl * 1000");
    static const std::string beat = expanded(R"(
WITH u AS (UPDATE session s SET deadline = {us} + ttl * 1000
  WHERE s.key = $1 AND s.generation = $2 AND {lives} RETURNING changes, watches)
SELECT changes, watches, incarnation, greatest(r.quarantine - {us}, 0) AS quarantine,
  least(CASE WHEN r.quarantine > {us} THEN r.quarantine END,
    (SELECT min(s.deadline) FROM session s WHERE s.key <> $1 AND {lives}),
    (SELECT min(ends) FROM waiter WHERE session <> $1 AND ends > {us})) - {us} AS next_deadline
FROM u, run r)");
    static const std::string dead =
        expanded("SELECT key FROM session s WHERE key <> $1 AND NOT ({lives}) LIMIT 16");
    static const std::string ended =
        expanded("SELECT DISTINCT name FROM waiter WHERE ends <= {us} LIMIT 16");
    static const std::string nearest = expanded(R"(
SELECT key, id FROM session s WHERE host = (SELECT host FROM session WHERE key = $1) AND host <> ''
AND key <> $1 AND {lives} ORDER BY key < $1, key LIMIT 3)");
    static const std::string old = expanded(R"(
WITH p AS (SELECT floor(random() * greatest(pg_relation_size('lock') / 8192 - 15, 1))::bigint AS n),
o AS (SELECT l.name, l.base FROM lock l
  WHERE l.ctid >= (SELECT format('(%s,0)', n)::tid FROM p)
  AND l.ctid < (SELECT format('(%s,0)', n + 16)::tid FROM p)
  AND l.holder IS NULL AND l.queue = 0 AND l.rest = 0 AND l.base < {us} - 60000000
  FOR UPDATE SKIP LOCKED LIMIT 64),
f AS (UPDATE store SET floor = greatest((SELECT max(base) + 1 FROM o), {us} - 30000000)
  WHERE floor <= (SELECT max(base) FROM o))
DELETE FROM lock WHERE name IN (SELECT name FROM o))");
    // The server's clock was set back: no time lies further ahead than it can.
    static const std::string late = expanded("UPDATE session SET deadline = {us} + ttl * 1000"
                                             " WHERE deadline > {us} + ttl * 1000");
    static const std::string long_quarantine =
        expanded("UPDATE run SET quarantine = {us} + most * 1000"
                 " FROM (SELECT max(ttl) AS most FROM lease_time) t"
                 " WHERE quarantine > {us} + most * 1000");
    const auto key = as_signed(actor.key);
    sql_message message;
    message.add(ledger, key, ahead);
    message.answer().add(beat, key, as_signed(actor.generation));
    message.add(dead, key);
    message.add(ended);
    message.add(nearest, key).end();
    message.add(late);
    message.add(long_quarantine);
    message.add(old);
    return message.end();
}

sql_message postgres_server::mark_dead(core::session_key key) const {
    static const std::string mark = expanded("UPDATE session SET dead = true, watches = false"
                                             " WHERE key = $1 AND NOT dead AND deadline <= {us}");
    sql_message message;
    message.add(mark, as_signed(key));
    count_watchers(message);
    message.answer().add("SELECT dead FROM session WHERE key = $1", as_signed(key));
    return message.end();
}

sql_message postgres_server::end(sql_actor actor) const {
    sql_message message;
    message.add(
        "UPDATE session SET dead = true, watches = false WHERE key = $1", as_signed(actor.key)
    );
    count_watchers(message);
    return message.end();
}

// Forgets all of the dead that have no entries, that one among them: who should have forgotten
// another may have ended before.
sql_message postgres_server::forget([[maybe_unused]] core::session_key key) const {
    sql_message message;
    message.add("DELETE FROM session s WHERE s.dead"
                " AND NOT EXISTS (SELECT FROM lock l WHERE l.holder = s.key)"
                " AND NOT EXISTS (SELECT FROM waiter w WHERE w.session = s.key)");
    return message.end();
}

sql_message postgres_server::entries(core::session_key key, std::size_t limit) const {
    static const std::string entries = expanded(R"(
SELECT coalesce({lives}, false) AS alive, coalesce(s.generation, 0) AS generation,
  coalesce(s.changes, 0) AS changes, {us} AS now, e.*,
  EXISTS (SELECT FROM waiter w WHERE w.name = e.name AND NOT w.granted AND w.session <> $1)
    AS contended
FROM (SELECT $1::bigint AS key) k LEFT JOIN session s ON s.key = k.key
LEFT JOIN LATERAL (
  SELECT name, 0 AS ordinal, true AS granted, holder AS session, request AS id, 0 AS mode,
    0 AS capacity, NULL::bigint AS hold_max, base << 10 AS token, 0 AS slot, NULL::bigint AS since
  FROM lock WHERE holder = $1
  UNION ALL
  SELECT name, ordinal, granted, session, request, mode, capacity, hold_max, token, slot, since
  FROM waiter WHERE session = $1
  LIMIT $2) e ON true ORDER BY e.name, e.ordinal)");
    static_assert(fencing_token::sequence_bits == 10);
    sql_message message;
    message.add(entries, as_signed(key), limited(limit));
    return message.end();
}

sql_message postgres_server::breaks(const std::string& name, std::size_t limit) const {
    sql_message message;
    message.add(
        "SELECT at, name, token, domain, holder, who, why FROM broken"
        " WHERE $1 = ''::bytea OR name = $1 ORDER BY number DESC LIMIT $2",
        db::blob(name),
        limited(limit)
    );
    return message.end();
}

sql_message postgres_server::watch(sql_actor actor) const {
    static const std::string watch = expanded(R"(
WITH w AS (UPDATE session s SET watches = true
  WHERE s.key = $1 AND s.generation = $2 AND {lives} AND NOT s.watches RETURNING 1)
UPDATE run SET watched = watched + 1 WHERE EXISTS (SELECT FROM w))");
    static const std::string alive = expanded(
        "SELECT 1 AS done FROM session s WHERE s.key = $1 AND s.generation = $2 AND {lives}"
    );
    const auto key = as_signed(actor.key);
    const auto generation = as_signed(actor.generation);
    sql_message message;
    message.add(watch, key, generation);
    message.answer().add(alive, key, generation);
    return message.end();
}

}  // namespace mortise::store_detail
