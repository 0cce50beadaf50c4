// SPDX-License-Identifier: BSL-1.0
#include "coordinator/coordinator_core.hpp"
#include "coordinator/operator_desk.hpp"
#include "log/log_views.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/error.hpp"

#include <utility>

namespace mortise::txn::detail {
namespace {

constexpr std::size_t orders_at_once = 256;

}  // namespace

// Listens for the bell. Without one, orders are found only when the log is taken over.
void left_orders::listen() {
    if (!bell_) {
        try {
            bell_
                .emplace(context_.strand(), context_.config().log, [this, weak = context_.owner()] {
                    if (const auto kept = weak.lock())
                        read(0);
                });
        } catch (const boost::system::system_error&) {
            bell_.reset();
        }
    }
    read(0);
}

void left_orders::read(std::int64_t after) {
    if (context_.closed() || context_.stopping() || !core_.log.is_open() ||
        core_.partitions.owned() == 0)
        return;
    core_.log->ask(
        [id = *core_.log.id(), after](db::connection& on) {
            return log::operator_order_tables::pending(on, id, after, orders_at_once);
        },
        core_.log.bound([this, kept = context_.keep(), number = core_.log.number()](
                            error_code failed, const std::vector<log::operator_order>& found
                        ) {
            if (!failed && number == core_.log.number())
                fulfil_all(found);
        })
    );
}

void left_orders::fulfil_all(const std::vector<log::operator_order>& found) {
    for (const auto& each : found)
        fulfil(each);
    if (found.size() == orders_at_once)
        read(found.back().id);
}

// Carries out one order. Those for another coordinator's transactions stay in the log.
void left_orders::fulfil(const log::operator_order& each) {
    if (context_.closed() || !core_.log.is_open() || core_.partitions.owned() == 0)
        return;
    if (!each.partition || each.ended)
        return refuse(each.id, errc::not_open);
    const auto found = core_.open.find(each.order.gid.number);
    if (!found)
        return fetch_for(each);
    if (each.order.type != intervention::kind::retry && is_unasked(*found, each.order))
        awaited_.insert(each.order.gid.number);
    else
        core_.operators.intervene_now(each.order, each.id, operator_desk::code_handler());
}

// Reads a transaction that is not in memory: the recovery has not reached it or has no room, or its
// records are damaged.
void left_orders::fetch_for(const log::operator_order& each) {
    if (core_.partitions.ours(*each.partition) == nullptr)
        return;
    core_.log->ask(
        [number = each.order.gid.number](db::connection& on) {
            return log::log_entries::find(on, number);
        },
        core_.log.bound([this, kept = context_.keep(), each, read = core_.open.begin_read()](
                            error_code failed, const std::optional<log::logged>& found
                        ) {
            auto* const home = core_.partitions.ours(*each.partition);
            if (failed || !found || found->ended || home == nullptr || context_.closed())
                return;
            if (read->is_stale(found->number))
                return;
            if (!core_.open.contains(found->number))
                core_.recovery.take_up(*home, *found);
            if (core_.open.contains(found->number))
                fulfil(each);
            else
                end_unread(*home, each, *found);
            context_.arm();
        })
    );
}

// Ends a transaction whose records are damaged, so that nobody can be called for it: operators have
// settled it by hand, and say so.
void left_orders::end_unread(
    partition& home, const log::operator_order& each, const log::logged& found
) {
    const bool open = found.at == standing::open;
    if (each.order.type == intervention::kind::retry)
        return refuse(each.id, errc::log_corrupt);
    if (each.order.type == intervention::kind::skip && open)
        return refuse(each.id, errc::not_stuck);
    action_view taken;
    taken.type = to_string(each.order.type);
    taken.who = each.order.who;
    taken.why = each.order.why;
    core_.log->change_counted(
        home.id,
        [by = *home.term,
         id = each.id,
         number = found.number,
         taken,
         open,
         progress = found.progress](db::connection& on) -> result<std::uint64_t> {
            if (!log::operator_order_tables::settle(on, id, {}))
                return error_code(errc::not_open);  // the order was done before
            constexpr int why = static_cast<int>(errc::forced);
            std::uint64_t change = 0;
            if (open) {
                const auto decided =
                    log::log_entries::decide(on, by, number, false, why, taken.why);
                if (!decided)
                    return decided.error();
                change = *decided;
            }
            if (const auto failed = log::log_entries::note_progress(on, by, number, progress, true))
                return failed;
            log::log_views::record(on, number, taken);
            return change;
        },
        core_.log.bound([this, kept = context_.keep()](error_code failed) {
            if (!failed)
                db::bell::ring(context_.config().log);
        })
    );
}

// Whether a branch was stuck at the earlier coordinator and is being asked once more. It may be
// stuck again soon, and then the order applies.
bool left_orders::is_unasked(const running& transaction, const intervention& order) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (operator_desk::concerns(order, i) && transaction.branches[i].unasked)
            return true;
    }
    return false;
}

void left_orders::refuse(std::int64_t order_id, error_code why) {
    core_.log->change(
        [order_id, why](db::connection& on) {
            return log::operator_order_tables::settle(on, order_id, why);
        },
        db::durability::force,
        core_.log.bound([this, kept = context_.keep()](error_code failed, bool) {
            if (!failed)
                db::bell::ring(context_.config().log);
        })
    );
}

void left_orders::read_if_awaited(const running& transaction) {
    if (awaited_.erase(transaction.gid.number) != 0)
        read(0);
}

}  // namespace mortise::txn::detail
