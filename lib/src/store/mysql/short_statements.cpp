// SPDX-License-Identifier: BSL-1.0
// The short ways. Row locks are taken in one order: the lock, its waiters, sessions. A subquery is
// evaluated for the row at hand, even after a wait for it; a joined row is not.
#include "store/mysql/mysql_server.hpp"
#include "store/mysql/statement_text.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

#define MORTISE_LIVES(s) s ".dead=0 AND " s ".deadline>" MORTISE_NOW
// May get a lock, or join behind a holder like this: there is no quarantine, and nobody watches.
#define MORTISE_ABLE(s) MORTISE_LIVES(s) " AND " s ".opens<=" MORTISE_NOW
// May give a lock up by a short way: nobody watches.
#define MORTISE_ACTS(session, generation)                                                          \
    "EXISTS(SELECT 1 FROM mortise_session s WHERE s.id=" session " AND s.generation=" generation   \
    " AND s.opens<" MORTISE_NEVER " AND " MORTISE_LIVES("s") ")"
#define MORTISE_INSERT_OF(session, generation)                                                     \
    "FROM mortise_session s JOIN mortise_meta m WHERE s.id=" session                               \
    " AND s.generation=" generation " AND m.one=1 AND " MORTISE_ABLE("s")

// The stamp of one who joined, whatever its marks.
#define MORTISE_JOINED(stamp) stamp "&~({granted}|{contended})={j}"

#define MORTISE_TAKE_FREE                                                                          \
    "ON DUPLICATE KEY UPDATE stamp=IF(held=0 AND queue=0 AND rest=0,VALUES(stamp),stamp),"         \
    "base=IF(stamp=VALUES(stamp),GREATEST(base+1,VALUES(base)),base),"                             \
    "request=IF(stamp=VALUES(stamp),VALUES(request),request),"                                     \
    "session=IF(stamp=VALUES(stamp),VALUES(session),mortise_lock.session),"                        \
    "held=IF(stamp=VALUES(stamp),1,held)"

// Of a lock that this client has used: its row is probably there. The base is told by the number of
// the last insertion, which costs no result.
constexpr const char* take_again =
    "UPDATE mortise_lock SET stamp=?,request=?,base=LAST_INSERT_ID(GREATEST(base+1," MORTISE_NOW
    ")),session=?,held=1 WHERE name=? AND held=0 AND queue=0 AND rest=0 AND EXISTS(SELECT 1 FROM "
    "mortise_session s WHERE s.id=? AND s.generation=? AND " MORTISE_ABLE("s") ")";

constexpr const char* take_alone =
    "INSERT INTO mortise_lock(name,stamp,session,request,base,held) "
    "SELECT ?,?,s.id,?,GREATEST(" MORTISE_NOW ",m.floor),1 " MORTISE_INSERT_OF(
        "?", "?"
    ) " " MORTISE_TAKE_FREE
      " RETURNING 1 granted,IF(stamp=?,base,NULL) base,0 ordinal,0 queue,0 tells";

// For MySQL, which has no RETURNING.
constexpr const char* take_plainly =
    "INSERT INTO mortise_lock(name,stamp,session,request,base,held) "
    "SELECT {n},{o},s.id,{r},GREATEST(" MORTISE_NOW ",m.floor),1 " MORTISE_INSERT_OF(
        "{s}", "{g}"
    ) " " MORTISE_TAKE_FREE ";SELECT 1 granted,base,0 ordinal,0 queue,0 tells FROM mortise_lock "
      "WHERE name={n} AND stamp={o}";

// The result is read before the commit, after which others may change the stamp. Who joins keeps
// the mark of a grant that the holder may not have heard of; the first that waits, of another
// session than the holder's, leaves another.
constexpr const char* take_or_join =
    "BEGIN;INSERT INTO mortise_lock(name,stamp,session,request,base,held) "
    "SELECT {n},{o},s.id,{r},GREATEST(" MORTISE_NOW ",m.floor),1 " MORTISE_INSERT_OF(
        "{s}", "{g}"
    ) " ON DUPLICATE KEY UPDATE stamp=IF(rest<>0,stamp,IF(held=0,IF(queue=0,{o},stamp),"
      "IF((SELECT 1 FROM mortise_session h WHERE h.id=mortise_lock.session AND " MORTISE_ABLE("h"
      ) "),{j}|(stamp&{granted})|IF(mortise_lock.session<>{s} AND (queue=0 OR "
        "NOT " MORTISE_OTHERS_WAIT("mortise_lock"
        ) "),{contended},0),stamp))),"
          "base=IF(stamp={o},GREATEST(base+1,VALUES(base)),base),"
          "request=IF(stamp={o},{r},request),session=IF(stamp={o},{s},mortise_lock.session),"
          "held=IF(stamp={o},1,held),"
          "queue=queue+(" MORTISE_JOINED("stamp") "),last=last+(" MORTISE_JOINED("stamp"
          ) ");"
            "INSERT INTO mortise_waiter(name,ordinal,session,request,since) "
            "SELECT name,last,{s},{r}," MORTISE_NOW
            " FROM mortise_lock WHERE name={n} AND " MORTISE_JOINED("stamp"
            ) ";SET @bell=0,@holder=NULL;"
              "SELECT s.id,s.bell INTO @holder,@bell FROM mortise_lock l "
              "JOIN mortise_session s ON s.id=l.session "
              "WHERE l.name={n} AND " MORTISE_JOINED("l.stamp"
              ) " AND l.stamp&{contended}<>0;"
                "UPDATE mortise_session SET changes=changes+1,rings=rings+1 WHERE id=@holder;"
                "SELECT stamp={o} granted,base,last ordinal,queue,0 tells FROM mortise_lock "
                "WHERE name={n} AND (stamp={o} OR " MORTISE_JOINED("stamp") ");COMMIT";

constexpr const char* release_text = "UPDATE mortise_lock SET stamp=?,held=0 WHERE name=? AND "
                                     "session=? AND held=1 AND request=? AND "
                                     "base=? AND queue=0 AND rest=0 AND " MORTISE_ACTS("?", "?");

constexpr const char* pass_on_text =
    "BEGIN;SET @ok=0,@w=NULL,@q=NULL,@o=NULL,@bell=0;"
    "SELECT 1 INTO @ok FROM mortise_lock WHERE name={n} AND session={s} AND held=1 AND "
    "request={r} AND base={b} AND rest=0 AND " MORTISE_ACTS(
        "{s}", "{g}"
    ) " FOR UPDATE;"
      "SELECT w.ordinal,w.session,w.request,s.bell INTO @o,@w,@q,@bell "
      "FROM mortise_waiter w JOIN mortise_session s ON s.id=w.session "
      "WHERE @ok=1 AND w.name={n} AND " MORTISE_ABLE("s"
      ) " ORDER BY w.ordinal LIMIT 1;"
        "DELETE FROM mortise_waiter WHERE name={n} AND ordinal=@o;"
        "UPDATE mortise_lock SET stamp={o},session=IFNULL(@w,session),held=@w IS NOT NULL,"
        "request=IFNULL(@q,request),base=IF(@w IS NULL,base,GREATEST(base+1," MORTISE_NOW ")),"
        "queue=queue-(@w IS NOT NULL) "
        "WHERE @ok=1 AND name={n} AND (@w IS NOT NULL OR queue=0);SET @ok=ROW_COUNT();"
        "UPDATE mortise_session SET changes=changes+1,rings=rings+1 WHERE id=@w;"
        "COMMIT;"
        "SELECT 1 done FROM mortise_meta WHERE @ok=1";

constexpr const char* withdraw_text =
    "BEGIN;SET @ok=0;SELECT 1 INTO @ok FROM mortise_lock WHERE name={n} AND rest=0 "
    "AND " MORTISE_ACTS(
        "{s}", "{g}"
    ) " FOR UPDATE;"
      "DELETE FROM mortise_waiter WHERE @ok=1 AND name={n} AND ordinal={w} AND session={s} AND "
      "request={r};SET @left=ROW_COUNT();"
      "UPDATE mortise_lock SET stamp={o},queue=queue-1 WHERE @left=1 AND name={n};"
      "SELECT @left=1 erased,held=1 AND session={s} AND request={r} granted,base FROM mortise_lock "
      "WHERE name={n} AND @ok=1;COMMIT";

}  // namespace

sql_message mysql_server::take(
    sql_actor actor, const std::string& name, request_id id, bool join, sql_stamp stamp
) const {
    sql_message message;
    if (join) {
        message.add(write_statement(
            take_or_join,
            {{"n", as_bytes(name)},
             {"o", stamp},
             {"j", stamp | mark_joined},
             {"granted", mark_granted},
             {"contended", mark_contended},
             {"s", actor.key},
             {"g", actor.generation},
             {"r", id}}
        ));
        message.add("KILL QUERY @bell");
    } else if (used_.erase(name) != 0) {
        message.add(take_again, stamp, id, actor.key, db::blob(name), actor.key, actor.generation);
    } else if (facts_->mariadb) {
        const db::blob bytes(name);
        message.add(take_alone, bytes, stamp, id, actor.key, actor.generation, stamp);
    } else {
        message.add(write_statement(
            take_plainly,
            {{"n", as_bytes(name)},
             {"o", stamp},
             {"s", actor.key},
             {"g", actor.generation},
             {"r", id}}
        ));
    }
    return message;
}

sql_message mysql_server::release(
    sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
) const {
    constexpr std::size_t used_max = 4'096;
    if (used_.size() == used_max)
        used_.clear();
    used_.insert(name);
    sql_message message;
    const db::blob bytes(name);
    message.add(release_text, stamp, bytes, actor.key, id, base, actor.key, actor.generation);
    return message;
}

sql_message mysql_server::pass_on(
    sql_actor actor, const std::string& name, request_id id, std::uint64_t base, sql_stamp stamp
) const {
    sql_message message;
    message.add(write_statement(
        pass_on_text,
        {{"n", as_bytes(name)},
         {"o", stamp | mark_granted},
         {"s", actor.key},
         {"g", actor.generation},
         {"r", id},
         {"b", base}}
    ));
    message.add("KILL QUERY @bell");
    return message;
}

sql_message mysql_server::withdraw(
    sql_actor actor, const std::string& name, request_id id, std::uint64_t ordinal, sql_stamp stamp
) const {
    sql_message message;
    message.add(write_statement(
        withdraw_text,
        {{"n", as_bytes(name)},
         {"o", stamp},
         {"s", actor.key},
         {"g", actor.generation},
         {"r", id},
         {"w", ordinal}}
    ));
    return message;
}

}  // namespace mortise::store_detail
