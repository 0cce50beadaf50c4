// SPDX-License-Identifier: BSL-1.0
#include "log/log_views.hpp"

#include "log/log_schema.hpp"
#include "log/operator_order_tables.hpp"
#include "log/plan.hpp"
#include "mortise/txn/error.hpp"
#include "wall_clock.hpp"

#include <utility>

namespace mortise::txn::log {
namespace {

constexpr const char* select =
    "SELECT number, state, why, text, key, begun_epoch, decided_epoch, begun, decided, ended,"
    " plan, progress FROM mortise_txn";

branch_view::state state_of(const progress::branch& branch, standing decided) {
    if (branch.skipped)
        return branch_view::state::skipped;
    if (branch.finished)
        return decided == standing::confirmed ? branch_view::state::confirmed
                                              : branch_view::state::cancelled;
    return branch.stuck ? branch_view::state::stuck : branch_view::state::open;
}

// Fills the view as far as the records can be read.
void describe(transaction_view& action, const std::string& plan_record, const std::string& done) {
    const auto known = plan::decode(plan_record);
    action.readable = known.has_value();
    if (!known)
        return;
    action.locks = known->locks;
    action.traceparent = known->traceparent;
    const auto record = done.empty() ? std::optional(progress()) : progress::decode(done);
    action.readable = record.has_value();
    for (std::size_t i = 0; i < known->branches.size(); ++i) {
        auto& each = action.branches.emplace_back();
        each.participant = known->branches[i].participant;
        each.payload_size = known->branches[i].payload.size();
        each.after = known->branches[i].after;
        if (!record || i >= record->branches.size())
            continue;
        const auto& branch = record->branches[i];
        each.finished = branch.finished;
        each.skipped = branch.skipped;
        each.stuck = branch.stuck;
        each.calls = branch.calls;
        each.newest = branch.newest;
        each.at = state_of(branch, action.at);
    }
}

transaction_view view_in(const db::statement& row, std::uint64_t log) {
    transaction_view action;
    action.gid = {log, static_cast<std::uint64_t>(row.integer(0))};
    const auto state = row.integer(1);
    action.at = state == 2   ? standing::confirmed
                : state == 3 ? standing::cancelled
                             : standing::open;
    if (const auto why = row.integer(2); why != 0)
        action.why = static_cast<errc>(why);
    action.text = row.text(3);
    action.key = row.text(4);
    action.begun_epoch = static_cast<std::uint64_t>(row.integer(5));
    action.decided_epoch = static_cast<std::uint64_t>(row.integer(6));
    action.begun_ms = row.integer(7);
    action.decided_ms = row.integer(8);
    action.ended_ms = row.integer(9);
    action.ended = !row.is_null(9);
    describe(action, row.text(10), row.text(11));
    return action;
}

void add_actions(db::connection& on, transaction_view& to) {
    auto row = on.query(
        "SELECT what, branch, who, why, at FROM mortise_txn_action WHERE number = ?1 ORDER BY id",
        static_cast<std::int64_t>(to.gid.number)
    );
    while (row.step()) {
        auto& each = to.actions.emplace_back();
        each.type = row.text(0);
        each.branch = static_cast<branch_number>(row.integer(1));
        each.who = row.text(2);
        each.why = row.text(3);
        each.at_ms = row.integer(4);
    }
}

bool wanted(const transaction_view& each, list_filter filter) {
    if (filter != list_filter::stuck)
        return true;
    for (const auto& branch : each.branches) {
        if (branch.stuck)
            return true;
    }
    return !each.readable;
}

}  // namespace

std::optional<transaction_view> log_views::of(db::connection& on, const gid& gid) {
    const auto known = log_schema::look(on);
    if (!known || known->id != gid.log)
        return std::nullopt;
    auto row =
        on.query(std::string(select) + " WHERE number = ?1", static_cast<std::int64_t>(gid.number));
    if (!row.step())
        return std::nullopt;
    auto action = view_in(row, gid.log);
    add_actions(on, action);
    action.operator_orders = operator_order_tables::about(on, gid.number);
    return action;
}

std::vector<transaction_view>
log_views::list(db::connection& on, list_filter filter, std::uint64_t after, std::size_t limit) {
    std::vector<transaction_view> found;
    const auto known = log_schema::look(on);
    if (!known)
        return found;
    auto row = on.query(
        std::string(select) + (filter == list_filter::all
                                   ? " WHERE number > ?1 ORDER BY number"
                                   : " WHERE number > ?1 AND ended IS NULL ORDER BY number"),
        static_cast<std::int64_t>(after)
    );
    while (found.size() < limit && row.step()) {
        auto action = view_in(row, known->id);
        if (wanted(action, filter))
            found.push_back(std::move(action));
    }
    return found;
}

void log_views::record(db::connection& on, std::uint64_t number, const action_view& action) {
    on.run(
        "INSERT INTO mortise_txn_action(number, branch, what, who, why, at)"
        " VALUES(?1, ?2, ?3, ?4, ?5, " MORTISE_TXN_NOW ")",
        static_cast<std::int64_t>(number),
        action.branch,
        action.type,
        action.who,
        action.why
    );
}

}  // namespace mortise::txn::log
