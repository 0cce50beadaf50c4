// SPDX-License-Identifier: BSL-1.0
// `mortise txn orphans`: branches that are prepared at databases, and what the log says of them.
#include "common/exit_code.hpp"
#include "common/text_table.hpp"
#include "common/time_text.hpp"
#include "common/xa_database.hpp"
#include "mortise/open_store.hpp"
#include "mortise/txn/log_reader.hpp"
#include "txn/txn_command.hpp"

#include <boost/asio/this_coro.hpp>

#include <ostream>
#include <utility>

namespace mortise::tool {
namespace {

struct found_branch {
    txn::prepared_branch branch;
    txn::prepared_standing at;
    std::string database;
};

// The database is read before the log: what begins between the two is under way.
asio::awaitable<void> look_at(
    const txn::log_reader& log, const std::string& url, bool all, std::vector<found_branch>& found
) {
    const auto on = co_await asio::this_coro::executor;
    const auto database = xa_database::open(on, url, 1);
    const auto participant = database->participant();
    auto listing = participant->list_prepared(log.id());
    const auto listed = co_await std::move(listing);
    for (const auto& each : listed.value()) {
        const auto at = log.standing_of(each);
        if (all || fate_of(at, true) != txn::prepared_fate::leave)
            found.push_back({each, at, without_passwords(url)});
    }
}

json::object branch_json(const found_branch& of) {
    json::object fields;
    fields["gid"] = of.branch.gid.text();
    fields["branch"] = of.branch.branch;
    fields["transaction"] = to_string(of.at);
    if (of.branch.age)
        fields["age_ms"] = of.branch.age->count();
    set_bytes(fields, "database", of.database);
    return fields;
}

void write(std::ostream& out, const std::vector<found_branch>& all) {
    text_table table({"TRANSACTION", "BRANCH", "PREPARED FOR", "BY THE LOG", "DATABASE"});
    table.align_right(1);
    for (const auto& each : all) {
        table.add(
            {each.branch.gid.text(),
             std::to_string(each.branch.branch),
             each.branch.age ? duration_text(*each.branch.age) : "-",
             to_string(each.at),
             each.database}
        );
    }
    table.write(out);
}

}  // namespace

asio::awaitable<int>
list_orphans(const global_settings& global, const txn_settings& settings, std::ostream& out) {
    const auto log = opened_log(settings);
    std::vector<found_branch> found;
    for (const auto& url : settings.databases) {
        const bool all = settings.filter == txn::list_filter::all;
        auto looking = look_at(log, url, all, found);
        co_await std::move(looking);
    }
    if (!global.json) {
        write(out, found);
        co_return exit_code::success;
    }
    json::object fields;
    set_bytes(fields, "log", settings.log);
    json::array each;
    for (const auto& branch : found)
        each.push_back(branch_json(branch));
    fields["branches"] = std::move(each);
    out << json::serialize(fields) << '\n';
    co_return exit_code::success;
}

}  // namespace mortise::tool
