// SPDX-License-Identifier: BSL-1.0
// What the store finds when it examines itself and its server.
#include "store/postgres/postgres_schema.hpp"
#include "store/postgres/postgres_server.hpp"

namespace mortise::store_detail {
namespace {

using verdict = store_finding::verdict;

// A transaction that is open for this long holds vacuum back enough to be felt, in milliseconds.
constexpr std::int64_t old_ms = 60'000;

}  // namespace

sql_message postgres_server::examine() const {
    static const std::string facts = expanded(R"(
SELECT current_setting('server_version') AS version, current_database() AS name, m.domain,
  greatest(r.quarantine - {us}, 0) AS quarantine, (SELECT count(*) FROM session) AS sessions,
  coalesce((SELECT max(extract(epoch FROM clock_timestamp() - coalesce(xact_start, backend_start))
    * 1000)::bigint FROM pg_stat_activity WHERE datname = current_database()
    AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL), 0) AS oldest,
  (SELECT count(*) FROM pg_replication_slots WHERE xmin IS NOT NULL) AS slots,
  (SELECT count(DISTINCT datname || ' ' || coalesce(usename, '')) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name <> $1
    AND backend_type = 'client backend' AND pid <> pg_backend_pid()) AS others,
  pg_notification_queue_usage() * 100 AS notified
FROM store m, run r)");
    sql_message message;
    message.add(facts, config_->server.application_name);
    return message.end();
}

std::vector<store_finding> postgres_server::findings(const sql_results& results) const {
    std::vector<store_finding> all;
    const auto add = [&all](verdict judgement, const char* subject, std::string text) {
        auto& finding = all.emplace_back();
        finding.judgement = judgement;
        finding.subject = subject;
        finding.found = std::move(text);
    };
    const auto& found = results.at(0).first();
    add(verdict::holds,
        "reach",
        "Every process that reaches the database " + found.text("name") + ", schema " +
            config_->schema + ", of this PostgreSQL server (" + found.text("version") + ").");
    add(verdict::holds,
        "tokens",
        "Grow over restarts, crashes and promotions, by the server's clock and a logged floor;"
        " their domain is " +
            found.text("domain") + ".");
    if (const auto left = found.integer("quarantine"); left > 0)
        add(verdict::weak,
            "quarantine",
            "The server has forgotten who holds a lock: nothing is granted for " +
                std::to_string(left / 1'000) + " ms more.");
    else
        add(verdict::holds, "quarantine", "None.");
    if (const auto oldest = found.integer("oldest"); oldest > old_ms)
        add(verdict::weak,
            "vacuum",
            "A transaction in this database is open for " + std::to_string(oldest / 1'000) +
                " s (pg_stat_activity, backend_xmin) and holds vacuum back: locks become slower."
                " Give the store a database of its own.");
    else if (found.integer("slots") > 0)
        add(verdict::weak,
            "vacuum",
            "A replication slot or a standby with hot_standby_feedback holds vacuum back: locks"
            " become slower if it falls behind.");
    else
        add(verdict::holds, "vacuum", "No old transaction holds it back.");
    if (found.integer("others") > 0)
        add(verdict::weak,
            "database",
            "Other programs use this database: their long transactions hold vacuum back, and each"
            " notification wakes whoever listens there. Give the store a database of its own.");
    else
        add(verdict::holds, "database", "No other program is connected to it.");
    if (found.real("notified") > 50)
        add(verdict::weak,
            "notifications",
            "The server's queue of notifications is more than half full: a listening program sits"
            " in an open transaction. If it is full, locks are handed over by heartbeats only.");
    else
        add(verdict::holds, "notifications", "Their queue has room.");
    add(verdict::holds, "sessions", std::to_string(found.integer("sessions")) + " sessions.");
    return all;
}

}  // namespace mortise::store_detail
