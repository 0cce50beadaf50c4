// SPDX-License-Identifier: BSL-1.0
// The short ways of locks.
#include "store/postgres/postgres_schema.hpp"
#include "store/postgres/postgres_server.hpp"

namespace mortise::store_detail {
namespace {

static_assert(fencing_token::sequence_bits == 10, "the statements have it as a number");

db::blob name_of(const std::string& name) {
    return db::blob(name);
}

// Whether another session than the holder's waits.
#define MORTISE_OTHERS_WAIT                                                                        \
    "EXISTS (SELECT FROM waiter w WHERE w.name = $1 AND w.session <> l.holder)"

// A notification to the present holder of a plain lock, with whether others wait.
std::string tells_holder(store_event::kind kind, const char* others_wait) {
    return "SELECT pg_notify(channel || holder, '" + std::to_string(static_cast<int>(kind)) +
           " ' || request || ' ' || (base << 10) || ' 0 ' || (" + others_wait +
           ")::int) FROM lock l, store WHERE name = $1 AND holder IS NOT NULL";
}

// Takes the lock, or joins its queue. To update a row that is probably there costs less than a
// statement that would also insert it.
std::string takes(bool known) {
    const std::string begin = known ? "UPDATE lock l SET" : R"(
  INSERT INTO lock AS l (name, stamp, holder, request, base, queue, last, rest)
  SELECT $1, $5, s.key, $4::bigint, greatest({us}, m.floor), 0, 0, 0
  FROM session s, run r, store m WHERE s.key = $2 AND s.generation = $3 AND {able}
    AND (m.floor < {us} OR m.floor < m.ceiling)
  ON CONFLICT (name) DO UPDATE SET)";
    const std::string condition = known ? R"(l.name = $1 AND (SELECT true FROM session s, run r
    WHERE s.key = $2 AND s.generation = $3 AND {able}) AND )"
                                        : "";
    return expanded(
        "WITH h AS (" + begin + R"( stamp = $5,
    base = CASE WHEN l.holder IS NULL THEN greatest(l.base + 1, {us}) ELSE l.base END,
    request = CASE WHEN l.holder IS NULL THEN $4 ELSE l.request END,
    holder = CASE WHEN l.holder IS NULL THEN $2 ELSE l.holder END,
    queue = l.queue + (l.holder IS NOT NULL)::int, last = l.last + (l.holder IS NOT NULL)::int
  WHERE )" +
        condition + R"(l.rest = 0 AND l.stamp <> $5
    AND CASE WHEN l.holder IS NULL THEN l.queue = 0 AND {drawn}
    ELSE $6 AND (SELECT true FROM session s, run r WHERE s.key = l.holder AND {able}) END
  RETURNING l.holder, l.request, l.base, l.last, l.queue, l.holder <> $2
    AND (l.queue = 1 OR NOT )" MORTISE_OTHERS_WAIT R"() AS tells),
w AS (INSERT INTO waiter (name, ordinal, session, request, since)
  SELECT $1, last, $2, $4, {us} FROM h WHERE holder <> $2 OR request <> $4),
c AS (UPDATE session s SET changes = changes + 1 FROM h WHERE s.key = h.holder AND h.tells)
SELECT holder = $2 AND request = $4 AS granted, base, last AS ordinal, queue, tells FROM h)"
    );
}

}  // namespace

sql_message postgres_server::take(
    sql_actor actor, const std::string& name, request_id id, bool join, sql_stamp stamp
) const {
    static const std::string take_known = takes(true);
    static const std::string take_any = takes(false);
    sql_message message;
    message.add(
        used_.erase(name) != 0 ? take_known : take_any,
        name_of(name),
        as_signed(actor.key),
        as_signed(actor.generation),
        as_signed(id),
        as_signed(stamp),
        join
    );
    return message.end();
}

// Not bound to the stamp, which others who join change: whether it is the first waiter.
sql_message
postgres_server::tell_holder(sql_actor actor, const std::string& name, request_id id) const {
    static const std::string tell =
        tells_holder(store_event::kind::contended, "true") +
        " AND (SELECT w.session = $2 AND w.request = $3 FROM waiter w"
        " WHERE w.name = $1 AND w.session <> l.holder ORDER BY w.ordinal LIMIT 1)";
    sql_message message;
    message.add(tell, name_of(name), as_signed(actor.key), as_signed(id));
    return message.end();
}

void postgres_server::note_use(const std::string& name) const {
    constexpr std::size_t used_max = 4'096;
    if (used_.size() == used_max)
        used_.clear();
    used_.insert(name);
}

sql_message postgres_server::release(
    sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
) const {
    static const std::string release = expanded(
        "UPDATE lock l SET stamp = $5, holder = NULL WHERE {mine} AND l.queue = 0 AND {free}"
        " AND (SELECT true FROM session s WHERE s.key = $2 AND s.generation = $6 AND {lives})"
        " RETURNING 1 AS done"
    );
    note_use(name);
    sql_message message;
    message.add(
        release,
        name_of(name),
        as_signed(actor.key),
        as_signed(id),
        as_signed(base),
        as_signed(stamp),
        as_signed(actor.generation)
    );
    return message.end();
}

// The row is locked by a statement before, so that the next one sees who joined while it waited.
// The owner of the moment is told, if it is another one. The stamp would not tell whether this was
// done: a join may have changed it since.
sql_message postgres_server::pass_on(
    sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
) const {
    static const std::string lock = expanded("SELECT FROM lock l WHERE {mine} FOR UPDATE");
    static const std::string pass = expanded(R"(
WITH o AS (SELECT true AS fits FROM lock l, session s WHERE {mine} AND {free} AND {drawn}
    AND s.key = $2 AND s.generation = $6 AND {lives}),
d AS (DELETE FROM waiter WHERE name = $1 AND (SELECT fits FROM o) AND ordinal = (
    SELECT w.ordinal FROM waiter w WHERE w.name = $1
    AND (SELECT true FROM session s, run r WHERE s.key = w.session AND {able})
    ORDER BY w.ordinal LIMIT 1) RETURNING session, request),
g AS (UPDATE lock l SET stamp = $5, holder = (SELECT session FROM d),
    request = coalesce((SELECT request FROM d), 0), base = greatest(l.base + 1, {us}),
    queue = l.queue - (SELECT count(*) FROM d)
  WHERE {mine} AND (SELECT fits FROM o) AND (l.queue = 0 OR EXISTS (SELECT FROM d))
  RETURNING l.holder),
c AS (UPDATE session s SET changes = changes + 1 FROM g WHERE s.key = g.holder)
SELECT 1 AS done FROM g)");
    static const std::string tell =
        tells_holder(store_event::kind::granted, "queue > 0 AND " MORTISE_OTHERS_WAIT) +
        " AND (holder <> $2 OR request <> $3)";
    const auto at = name_of(name);
    const auto key = as_signed(actor.key);
    note_use(name);
    sql_message message;
    message.add(lock, at, key, as_signed(id), as_signed(base));
    message.answer().add(
        pass, at, key, as_signed(id), as_signed(base), as_signed(stamp), as_signed(actor.generation)
    );
    message.end().add(tell, at, key, as_signed(id));
    return message.end();
}

sql_message postgres_server::withdraw(
    sql_actor actor, const std::string& name, request_id id, std::uint64_t ordinal, sql_stamp stamp
) const {
    static const std::string withdraw = expanded(R"(
WITH o AS (SELECT l.holder, l.request, l.base FROM lock l, session s WHERE l.name = $1
    AND l.rest = 0 AND {free} AND s.key = $2 AND s.generation = $6 AND {lives}),
d AS (DELETE FROM waiter WHERE name = $1 AND ordinal = $4 AND session = $2 AND request = $3
    AND EXISTS (SELECT FROM o) RETURNING 1),
u AS (UPDATE lock SET stamp = $5, queue = queue - 1 WHERE name = $1 AND EXISTS (SELECT FROM d))
SELECT EXISTS (SELECT FROM d) AS erased, coalesce(holder = $2 AND request = $3, false) AS granted,
  base FROM o)");
    const auto at = name_of(name);
    sql_message message;
    message.add("SELECT FROM lock WHERE name = $1 FOR UPDATE", at);
    message.answer().add(
        withdraw,
        at,
        as_signed(actor.key),
        as_signed(id),
        as_signed(ordinal),
        as_signed(stamp),
        as_signed(actor.generation)
    );
    return message.end();
}

}  // namespace mortise::store_detail
