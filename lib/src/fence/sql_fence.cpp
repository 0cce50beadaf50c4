// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mortise/fence/sql.hpp"

#include <algorithm>
#include <cstdint>

namespace mortise::detail {
namespace {

using db::blob;
using db::bound_sql;
using db::query_result;
using db::sql_dialect;
using db::detail::sql_runner;

constexpr std::size_t resource_size_max = 1024;

bool at_mysql(const sql_runner& on) {
    return on.dialect() == sql_dialect::mysql;
}

// A statement with parameters `$1`, `$2`, ... in this order; MySQL wants a mark without a number.
asio::awaitable<query_result>
ask(sql_runner& on, std::string sql, std::vector<db::column_value> values = {}) {
    if (at_mysql(on)) {
        for (auto place = sql.find('$'); place != std::string::npos; place = sql.find('$', place))
            sql.replace(place, 2, "?");
    }
    return on.run(bound_sql(std::move(sql), std::move(values)));
}

template <class... Values>
std::vector<db::column_value> values_of(const Values&... values) {
    return {db::to_column_value(values)...};
}

void check_token(const std::string& resource, const fencing_token& held) {
    constexpr auto value_end = std::uint64_t{1} << 63;
    if (!held || held.value >= value_end || held.domain.empty())
        throw error(errc::no_token, resource, "pass the token of a lease");
    if (resource.size() > resource_size_max)
        throw error(errc::name_too_long, resource, "name the resource by at most 1,024 bytes");
}

error refusal(const std::string& resource, const db::row& higher, const fencing_token& held) {
    if (higher.text("domain") != held.domain.name())
        return error(errc::foreign_domain, resource, "fence it with the tokens of one store");
    return error(errc::stale_token, resource, "roll back: a later holder has come");
}

/// The floor, which stays locked against `forget`, or for it, until the transaction ends. Its
/// domain is empty as long as nothing was forgotten.
asio::awaitable<db::row> lock_floor(sql_runner& on, bool alone) {
    const char* const share = at_mysql(on) ? " LOCK IN SHARE MODE" : " FOR SHARE";
    auto asking =
        ask(on,
            std::string("SELECT domain, token FROM mortise_fence_floor WHERE one = 1") +
                (alone ? " FOR UPDATE" : share));
    const query_result found = co_await std::move(asking);
    if (found.empty())
        throw error(errc::bad_config, "mortise_fence_floor", "call sql_fence::make_tables");
    co_return found.first();
}

bool accepts(const db::row& floor, const fencing_token& held) {
    const std::string& domain = floor.text("domain");
    return domain.empty() || (domain == held.domain.name() &&
                              floor.integer("token") <= static_cast<std::int64_t>(held.value));
}

// Raises a fence that is there already, at PostgreSQL. At MySQL the search for one that is missing
// would lock a gap, and two that do so would then deadlock.
constexpr const char* raise_present = "UPDATE mortise_fence SET token = $1 WHERE resource = $2"
                                      " AND domain = $3 AND token <= $4";
constexpr const char* insert_fence =
    "INSERT INTO mortise_fence(resource, domain, token) VALUES($1, $2, $3)";
constexpr const char* or_raise = " ON CONFLICT(resource) DO UPDATE SET token = excluded.token WHERE"
                                 " mortise_fence.domain = excluded.domain"
                                 " AND mortise_fence.token <= excluded.token";
constexpr const char* or_raise_at_mysql =
    " ON DUPLICATE KEY UPDATE token ="
    " IF(domain = VALUES(domain) AND token <= VALUES(token), VALUES(token), token)";
// Locks, because at MySQL another read would see the snapshot of the transaction.
constexpr const char* read_fence =
    "SELECT domain, token FROM mortise_fence WHERE resource = $1 FOR UPDATE";

constexpr const char* find_stranger = "SELECT 1 FROM mortise_fence WHERE domain <> $1 LIMIT 1";
constexpr const char* count_fences = "SELECT count(*) FROM mortise_fence WHERE domain = $1";
constexpr const char* find_border =
    "SELECT token FROM mortise_fence WHERE domain = $1 ORDER BY token LIMIT 1 OFFSET ";
constexpr const char* raise_floor =
    "UPDATE mortise_fence_floor SET domain = $1, token = greatest(token, $2) WHERE one = 1";
constexpr const char* delete_fences = "DELETE FROM mortise_fence WHERE domain = $1 AND token <= $2";

}  // namespace

asio::awaitable<void> raise_fence(sql_runner& on, std::string resource, fencing_token held) {
    check_token(resource, held);
    const std::string domain(held.domain.name());
    const auto token = static_cast<std::int64_t>(held.value);
    if (!at_mysql(on)) {
        auto raising = ask(on, raise_present, values_of(token, blob(resource), domain, token));
        const query_result raised = co_await std::move(raising);
        if (raised.affected > 0)
            co_return;
    }
    auto locking = lock_floor(on, false);
    const db::row floor = co_await std::move(locking);
    if (accepts(floor, held)) {
        const std::string sql =
            std::string(insert_fence) + (at_mysql(on) ? or_raise_at_mysql : or_raise);
        auto raising = ask(on, sql, values_of(blob(resource), domain, token));
        const query_result raised = co_await std::move(raising);
        if (raised.affected > 0)
            co_return;
    }
    auto reading = ask(on, read_fence, values_of(blob(resource)));
    const query_result found = co_await std::move(reading);
    const db::row& fence = found.empty() ? floor : found.first();
    if (found.empty() || fence.text("domain") != domain || fence.integer("token") > token)
        throw refusal(resource, fence, held);
    // It is there, so the floor is not asked. At MySQL it may also have this token already.
    auto raising = ask(on, raise_present, values_of(token, blob(resource), domain, token));
    co_await std::move(raising);
}

asio::awaitable<std::size_t>
forget_fences(sql_runner& on, token_domain of, std::size_t keep, std::size_t limit) {
    if (of.empty())
        throw error(errc::no_token, {}, "name the domain whose fences are to be forgotten");
    const std::string domain(of.name());
    auto locking = lock_floor(on, true);
    const db::row floor = co_await std::move(locking);
    auto searching = ask(on, find_stranger, values_of(domain));
    const query_result stranger = co_await std::move(searching);
    const bool is_strange = !floor.text("domain").empty() && floor.text("domain") != domain;
    if (is_strange || !stranger.empty())
        throw error(errc::foreign_domain, domain, "keep all fences of a database with two domains");
    auto counting = ask(on, count_fences, values_of(domain));
    const query_result count = co_await std::move(counting);
    const auto present = static_cast<std::size_t>(count.first().integer(std::size_t{0}));
    const std::size_t excess = std::min(present - std::min(present, keep), limit);
    if (excess == 0)
        co_return 0;
    auto asking = ask(on, find_border + std::to_string(excess - 1), values_of(domain));
    const query_result border = co_await std::move(asking);
    // The floor is raised before the fences go.
    auto raising = ask(on, raise_floor, values_of(domain, border.first().integer("token")));
    co_await std::move(raising);
    auto deleting = ask(on, delete_fences, values_of(domain, border.first().integer("token")));
    const query_result deleted = co_await std::move(deleting);
    co_return static_cast<std::size_t>(deleted.affected);
}

std::vector<std::string> fence_tables(sql_dialect dialect) {
    if (dialect == sql_dialect::mysql) {
        return {
            "CREATE TABLE IF NOT EXISTS mortise_fence(resource VARBINARY(1024) PRIMARY KEY,"
            " domain VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"
            " token BIGINT NOT NULL, KEY (domain, token)) ENGINE=InnoDB",
            "CREATE TABLE IF NOT EXISTS mortise_fence_floor(one INT PRIMARY KEY CHECK (one = 1),"
            " domain VARCHAR(31) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"
            " token BIGINT NOT NULL) ENGINE=InnoDB",
            "INSERT IGNORE INTO mortise_fence_floor VALUES (1, '', 0)"};
    }
    return {
        "CREATE TABLE IF NOT EXISTS mortise_fence(resource bytea PRIMARY KEY,"
        " domain text NOT NULL, token bigint NOT NULL) WITH (fillfactor = 50)",
        "CREATE TABLE IF NOT EXISTS mortise_fence_floor(one int PRIMARY KEY CHECK(one = 1),"
        " domain text NOT NULL, token bigint NOT NULL)",
        "INSERT INTO mortise_fence_floor VALUES(1, '', 0) ON CONFLICT DO NOTHING"};
}

}  // namespace mortise::detail
