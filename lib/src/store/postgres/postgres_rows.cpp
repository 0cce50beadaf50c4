// SPDX-License-Identifier: BSL-1.0
// The general way of locks: loading and storing.
#include "store/break_note.hpp"
#include "store/postgres/postgres_schema.hpp"
#include "store/postgres/postgres_server.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mortise::store_detail {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

static_assert(fencing_token::sequence_bits == 10, "the statements have it as a number");

/// A column of an array, in the form of the server's texts.
class array_text {
public:
    template <class T>
    void add(const T& value) {
        if constexpr (std::is_same_v<T, std::string>)
            append(value);
        else
            append(std::to_string(value));
    }
    void add_null() { append("NULL"); }
    std::string text() const { return '{' + text_ + '}'; }

private:
    void append(const std::string& item) {
        if (!text_.empty())
            text_ += ',';
        text_ += item;
    }
    std::string text_;
};

// The rows of a lock with those of its entries and sessions, from `f`, the locks that are looked
// for; $2 is the session that asks, whose row is read, too.
constexpr std::string_view loaded = R"(
SELECT f.name, l.stamp, l.holder, l.request, l.base, l.queue, l.last, l.rest, {us} AS now,
  m.floor, m.domain, greatest(r.quarantine - {us}, 0) AS quarantine, e.ordinal, e.granted,
  e.session, e.id, e.mode, e.capacity, e.hold_max, e.token, e.slot, e.since, s.id AS session_id,
  s.host, s.label, s.pid, s.generation, s.ttl, s.dead, s.deadline
FROM f CROSS JOIN store m CROSS JOIN run r LEFT JOIN lock l ON l.name = f.name
LEFT JOIN LATERAL (
  SELECT ordinal, granted, session, request AS id, mode, capacity, hold_max, token, slot, since
  FROM waiter w WHERE w.name = f.name
  UNION ALL
  SELECT NULL, NULL, p.key, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (VALUES (l.holder), ($2::bigint)) p (key) WHERE p.key IS NOT NULL) e ON true
LEFT JOIN session s ON s.key = e.session ORDER BY f.name, e.ordinal)";

}  // namespace

sql_message postgres_server::load(sql_actor actor, const std::string& name, row_lock mode) const {
    static const std::string load =
        expanded("WITH f AS (SELECT $1::bytea AS name)" + std::string(loaded));
    const auto at = db::blob(name);
    sql_message message;
    if (mode == row_lock::taken) {
        message.add("BEGIN");
        message.add("SET LOCAL lock_timeout = 1800");
        message.add("SET LOCAL idle_in_transaction_session_timeout = 500");
        message.add(
            "INSERT INTO lock SELECT $1, 1 + (random() * 1e15)::bigint, NULL, 0, floor, 0, 0, 0"
            " FROM store ON CONFLICT DO NOTHING",
            at
        );
        message.add("SELECT FROM lock WHERE name = $1 FOR UPDATE", at);
    }
    message.answer().add(load, at, as_signed(actor.key));
    return message.end();
}

sql_message postgres_server::list(const std::string& after, std::size_t limit) const {
    static const std::string list = expanded(
        "WITH f AS (SELECT name FROM lock WHERE name > $1"
        " AND (holder IS NOT NULL OR queue > 0 OR rest <> 0) ORDER BY name LIMIT $3)" +
        std::string(loaded)
    );
    sql_message message;
    message.add(list, db::blob(after), 0, static_cast<std::int64_t>(limit));
    return message.end();
}

namespace {

void add_entries(std::vector<db::column_value>& to, const std::vector<core::lock_entry>& entries) {
    array_text ordinals, sessions, requests, granted, modes, capacities, limits, tokens, slots,
        times;
    for (const auto& each : entries) {
        ordinals.add(each.ordinal);
        sessions.add(each.session);
        requests.add(as_signed(each.id));
        granted.add(std::string(each.granted ? "t" : "f"));
        modes.add(static_cast<int>(each.mode.type()));
        capacities.add(each.mode.capacity());
        if (each.hold_max == std::chrono::milliseconds::max())
            limits.add_null();
        else
            limits.add(each.hold_max.count());
        tokens.add(each.token);
        slots.add(each.slot);
        times.add(duration_cast<microseconds>(each.since.time_since_epoch()).count());
    }
    for (const auto* const each :
         {&ordinals,
          &sessions,
          &requests,
          &granted,
          &modes,
          &capacities,
          &limits,
          &tokens,
          &slots,
          &times})
        to.push_back(each->text());
}

db::bound_sql written(const sql_lock_change& change) {
    static const std::string write = expanded(R"(
WITH a AS (SELECT $2::bigint = 0 OR EXISTS (SELECT FROM session s
    WHERE s.key = $2 AND s.generation = $3 AND {lives}) AS alive),
n AS (INSERT INTO lock (name, stamp, holder, request, base, queue, last, rest)
  SELECT $1, $5, nullif($6::bigint, 0), $7, $8, $9, $10, $11
  WHERE $4::bigint = 0 AND (SELECT alive FROM a) ON CONFLICT DO NOTHING RETURNING 1),
u AS (UPDATE lock SET stamp = $5, holder = nullif($6::bigint, 0), request = $7, base = $8,
    queue = $9, last = $10, rest = $11
  WHERE $4 <> 0 AND name = $1 AND stamp = $4 AND (SELECT alive FROM a) RETURNING 1),
l AS (SELECT FROM n UNION ALL SELECT FROM u),
d AS (DELETE FROM waiter WHERE name = $1 AND ordinal = ANY ($12::bigint[])
  AND EXISTS (SELECT FROM l)),
w AS (INSERT INTO waiter (name, ordinal, session, request, granted, mode, capacity, hold_max,
    token, slot, since)
  SELECT $1, e.* FROM unnest($13::bigint[], $14::bigint[], $15::bigint[], $16::boolean[],
    $17::int[], $18::int[], $19::bigint[], $20::bigint[], $21::int[], $22::bigint[]) e
  WHERE EXISTS (SELECT FROM l)
  ON CONFLICT (name, ordinal) DO UPDATE SET session = excluded.session, request = excluded.request,
    granted = excluded.granted, mode = excluded.mode, capacity = excluded.capacity,
    hold_max = excluded.hold_max, token = excluded.token, slot = excluded.slot,
    since = excluded.since),
c AS (UPDATE session s SET changes = changes + e.count
  FROM unnest($23::bigint[], $24::bigint[]) e (key, count)
  WHERE s.key = e.key AND EXISTS (SELECT FROM l)),
f AS (UPDATE store SET ceiling = $8 + {margin}
  WHERE ceiling <= $8 AND $8 >= {us} AND EXISTS (SELECT FROM l))
SELECT alive, EXISTS (SELECT FROM l) OR EXISTS (SELECT FROM lock WHERE name = $1 AND stamp = $5)
  AS written FROM a)");
    const auto& row = change.row;
    db::bound_sql sql(
        write,
        db::blob(change.name),
        as_signed(change.actor.key),
        as_signed(change.actor.generation),
        as_signed(change.expected),
        as_signed(row.stamp),
        as_signed(row.holder),
        as_signed(row.request),
        as_signed(row.base),
        as_signed(row.queue),
        as_signed(row.last),
        row.rest
    );
    array_text erased;
    for (const auto each : change.erased)
        erased.add(each);
    sql.values.push_back(erased.text());
    add_entries(sql.values, change.writes);
    array_text keys, counts;
    for (const auto& [key, count] : change.changes) {
        keys.add(key);
        counts.add(count);
    }
    sql.values.push_back(keys.text());
    sql.values.push_back(counts.text());
    return sql;
}

void add_record(sql_message& to, const break_record& record, sql_stamp stamp) {
    static const std::string keep =
        "INSERT INTO broken (at, name, token, domain, holder, who, why)"
        " SELECT $3, $1, $4, $5, $6, $7, $8"
        " WHERE EXISTS (SELECT FROM lock WHERE name = $1 AND stamp = $2)";
    static const std::string forget =
        "DELETE FROM broken WHERE number <= (SELECT max(number) FROM broken) - " +
        std::to_string(breaks_kept);
    to.add(
        keep,
        db::blob(record.name),
        as_signed(stamp),
        duration_cast<microseconds>(record.at.time_since_epoch()).count(),
        as_signed(record.token.value),
        record.token.domain.name(),
        db::blob(record.holder),
        db::blob(record.who),
        db::blob(record.why)
    );
    to.add(forget);
}

// Tells those whom the change concerns, if it is so: a session that is told of a grant believes it.
// The change may have missed, and somebody else may have granted to the same request, with the same
// token but in another slot: so all parts of a grant are compared.
void add_pushes(sql_message& to, const sql_lock_change& change) {
    static const std::string push = R"(
SELECT pg_notify(channel || e.key, concat_ws(' ', e.kind, e.request, e.token, e.slot, e.contended))
FROM store, unnest($2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::int[])
  e (key, kind, request, token, slot, contended)
WHERE e.kind = $8 OR EXISTS (SELECT FROM lock l WHERE l.name = $1 AND l.holder = e.key
    AND l.request = e.request AND l.base << 10 = e.token)
  OR EXISTS (SELECT FROM waiter w WHERE w.name = $1 AND w.session = e.key
    AND w.request = e.request AND w.token = e.token AND w.slot = e.slot AND w.granted))";
    array_text keys, kinds, requests, tokens, slots, contended;
    for (const auto& each : change.pushes) {
        keys.add(each.to);
        kinds.add(static_cast<int>(each.type));
        requests.add(as_signed(each.id));
        tokens.add(each.token);
        slots.add(each.slot);
        contended.add(static_cast<int>(each.contended));
    }
    to.add(
        push,
        db::blob(change.name),
        keys.text(),
        kinds.text(),
        requests.text(),
        tokens.text(),
        slots.text(),
        contended.text(),
        static_cast<int>(store_event::kind::look_again)
    );
    to.end();
}

// Tells those who watch, once. They are counted off, not to zero: somebody may begin to watch while
// this waits for the row of `run`, and must not be overlooked.
void add_watchers(sql_message& to) {
    static const std::string tell = R"(
WITH w AS (UPDATE session SET watches = false WHERE watches AND (SELECT watched > 0 FROM run)
  RETURNING key),
n AS (UPDATE run SET watched = greatest(watched - (SELECT count(*) FROM w), 0)
  WHERE EXISTS (SELECT FROM w))
SELECT pg_notify(channel || key, ')" +
                                    std::to_string(static_cast<int>(store_event::kind::changed)) +
                                    " 0 0 0 0') FROM w, store";
    to.add(tell);
    to.end();
}

}  // namespace

sql_message postgres_server::store(const sql_lock_change& change, row_lock mode) const {
    sql_message message;
    message.steps.emplace_back(written(change));
    if (change.record)
        add_record(message, *change.record, change.row.stamp);
    if (mode == row_lock::taken)
        message.add("COMMIT");
    message.end();
    if (!change.pushes.empty())
        add_pushes(message, change);
    if (change.visible)
        add_watchers(message);
    return message;
}

}  // namespace mortise::store_detail
