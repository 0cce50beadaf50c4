// SPDX-License-Identifier: BSL-1.0
#include "store/postgres/postgres_schema.hpp"

#include "mortise/store_types.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

constexpr std::pair<std::string_view, std::string_view> abbreviations[] = {
    {"{able}", "{lives} AND r.watched = 0 AND r.quarantine <= {us}"},
    {"{lives}", "NOT s.dead AND s.deadline > {us}"},
    {"{mine}", "l.name = $1 AND l.holder = $2 AND l.request = $3 AND l.base = $4 AND l.rest = 0"},
    {"{free}", "(SELECT watched = 0 FROM run)"},
    // No base is given that is ahead of the clock and not below the logged ceiling: the next run of
    // the server begins above that. The short ways leave it to the general way to raise that, by so
    // much that few grants have to.
    {"{drawn}", "(l.base < {us} OR l.base + 1 < (SELECT ceiling FROM store))"},
    {"{margin}", "1000000"},
    // As a floating number: exact to the microsecond for some centuries, and quicker than numeric.
    {"{us}", "(date_part('epoch', clock_timestamp()) * 1000000)::bigint"},
};

// A text for SQL, in quotes.
std::string quoted_text(std::string_view text) {
    std::string quoted = "'";
    for (const char each : text)
        quoted.append(each == '\'' ? 2 : 1, each);
    return quoted + '\'';
}

/// A table, or a sequence.
struct relation {
    const char* kind;
    const char* name;
    const char* rest;
};

// Tables that are written all the time have room on each page (fillfactor): the new version of a
// row stays on it, and no index has to change.
constexpr relation relations[] = {
    {"SEQUENCE", "session_key", ""},
    {"TABLE",
     "store",
     "(one boolean PRIMARY KEY DEFAULT true CHECK (one), format bigint NOT NULL,"
     " domain text NOT NULL, channel text NOT NULL, floor bigint NOT NULL,"
     " ceiling bigint NOT NULL)"},
    {"TABLE", "lease_time", "(ttl bigint PRIMARY KEY, until bigint NOT NULL)"},
    {"TABLE",
     "broken",
     "(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL,"
     " name bytea NOT NULL, token bigint NOT NULL, domain text NOT NULL,"
     " holder bytea NOT NULL, who bytea NOT NULL, why bytea NOT NULL)"},
    {"UNLOGGED TABLE",
     "run",
     "(one boolean PRIMARY KEY DEFAULT true CHECK (one), incarnation text NOT NULL,"
     " quarantine bigint NOT NULL, watched bigint NOT NULL)"},
    {"UNLOGGED TABLE",
     "session",
     "(key bigint PRIMARY KEY, id text NOT NULL UNIQUE, generation bigint NOT NULL,"
     " ttl bigint NOT NULL, deadline bigint NOT NULL, dead boolean NOT NULL,"
     " changes bigint NOT NULL, watches boolean NOT NULL, process bigint NOT NULL,"
     " process_start timestamptz, host bytea NOT NULL, label bytea NOT NULL,"
     " pid bigint NOT NULL) WITH (fillfactor = 20)"},
    {"UNLOGGED TABLE",
     "lock",
     "(name bytea PRIMARY KEY, stamp bigint NOT NULL, holder bigint, request bigint NOT NULL,"
     " base bigint NOT NULL, queue bigint NOT NULL, last bigint NOT NULL, rest integer NOT NULL)"
     " WITH (fillfactor = 20)"},
    {"UNLOGGED TABLE",
     "waiter",
     "(name bytea, ordinal bigint, session bigint NOT NULL, request bigint NOT NULL,"
     " granted boolean NOT NULL DEFAULT false, mode integer NOT NULL DEFAULT 0,"
     " capacity integer NOT NULL DEFAULT 0, hold_max bigint, token bigint NOT NULL DEFAULT 0,"
     " slot integer NOT NULL DEFAULT 0, since bigint NOT NULL,"
     " ends bigint GENERATED ALWAYS AS"
     " (CASE WHEN granted THEN since + hold_max * 1000 END) STORED,"
     " PRIMARY KEY (name, ordinal))"},
};

}  // namespace

std::string expanded(std::string_view text) {
    std::string whole(text);
    for (const auto& [from, to] : abbreviations) {
        for (auto at = whole.find(from); at != std::string::npos; at = whole.find(from, at))
            whole.replace(at, from.size(), to);
    }
    return whole;
}

std::string quoted_name(std::string_view name) {
    std::string quoted = "\"";
    for (const char each : name)
        quoted.append(each == '"' ? 2 : 1, each);
    return quoted + '"';
}

std::vector<std::string>
postgres_tables(std::string_view schema, std::string_view domain, bool with_schema) {
    const std::string random = random_id::draw().text().substr(0, 16);
    const std::string in = quoted_name(schema) + '.';
    std::vector<std::string> all;
    // Two clients may do this at once, and IF NOT EXISTS is no help against that.
    all.push_back("SELECT pg_advisory_xact_lock(hashtext(" + quoted_text(in) + "))");
    if (with_schema)
        all.push_back("CREATE SCHEMA IF NOT EXISTS " + quoted_name(schema));
    for (const auto& [kind, name, rest] : relations)
        all.push_back(std::string("CREATE ") + kind + " IF NOT EXISTS " + in + name + ' ' + rest);
    all.push_back("CREATE INDEX IF NOT EXISTS waiter_session ON " + in + "waiter (session)");
    all.push_back(
        "CREATE INDEX IF NOT EXISTS waiter_ends ON " + in + "waiter (ends) WHERE ends IS NOT NULL"
    );
    const std::string wanted = domain.empty() ? "pg-" + random : std::string(domain);
    all.push_back(
        "INSERT INTO " + in + "store (format, domain, channel, floor, ceiling) VALUES (" +
        std::to_string(postgres_format) + ", " + quoted_text(wanted) + ", " +
        quoted_text("mortise_" + random + '_') + ", 1, 0) ON CONFLICT DO NOTHING"
    );
    return all;
}

}  // namespace mortise::store_detail
