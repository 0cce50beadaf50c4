// SPDX-License-Identifier: BSL-1.0
// What the store finds when it examines itself and its server.
#include "store/mysql/mysql_server.hpp"
#include "store/mysql/statement_text.hpp"

#include <string>
#include <utility>

namespace mortise::store_detail {
namespace {

using verdict = store_finding::verdict;

constexpr const char* facts_text =
    "SELECT CAST(VERSION() AS BINARY) version,CAST(DATABASE() AS BINARY) name,m.domain domain,"
    "m.durable durable,@@innodb_flush_log_at_trx_commit flushes,"
    "GREATEST(IFNULL(r.quarantine,0)-" MORTISE_NOW ",0) quarantine,"
    "(SELECT COUNT(*) FROM mortise_session) sessions "
    "FROM mortise_meta m LEFT JOIN mortise_run r ON r.server=@@server_id";

}  // namespace

sql_message mysql_server::examine() const {
    sql_message message;
    message.add(facts_text);
    return message;
}

std::vector<store_finding> mysql_server::findings(const sql_results& results) const {
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
        "Every process that reaches the database " + bytes_in(found, "name") + " of this server (" +
            bytes_in(found, "version") + ").");
    if (found.integer("flushes") == 1 && found.integer("durable") != 0)
        add(verdict::holds,
            "tokens",
            "Grow over restarts and crashes: each commit is logged; after a promotion by the"
            " server's clock. Their domain is " +
                bytes_in(found, "domain") + ".");
    else
        add(verdict::weak,
            "tokens",
            "Grow over crashes only if the server's clock does not run backwards: it does not log"
            " each commit. Set innodb_flush_log_at_trx_commit = 1. Their domain is " +
                bytes_in(found, "domain") + ".");
    if (found.integer("flushes") == 1 && found.integer("durable") != 0)
        add(verdict::holds, "restart", "Needs no quarantine: leases go on.");
    else
        add(verdict::weak,
            "restart",
            "After each restart nothing is granted until the longest TTL has passed, since the last"
            " commits may be lost. Set innodb_flush_log_at_trx_commit = 1.");
    if (const auto left = found.integer("quarantine"); left > 0)
        add(verdict::weak,
            "quarantine",
            "The server may have forgotten who holds a lock: nothing is granted for " +
                std::to_string(left / 1'000) + " ms more.");
    else
        add(verdict::holds, "quarantine", "None.");
    if (facts_->renumbered)
        add(verdict::weak,
            "pushes",
            "Something between here and the server gives connections other numbers (a proxy), so"
            " nobody can ring: locks are handed over by heartbeats only. Name the server itself.");
    else
        add(verdict::holds, "pushes", "By KILL QUERY, among clients of one user.");
    add(verdict::holds, "sessions", std::to_string(found.integer("sessions")) + " sessions.");
    return all;
}

}  // namespace mortise::store_detail
