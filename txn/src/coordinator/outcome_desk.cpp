// SPDX-License-Identifier: BSL-1.0
#include "coordinator/outcome_desk.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"

#include <boost/asio/dispatch.hpp>

#include <memory>
#include <utility>

namespace mortise::txn::detail {
namespace {

error_code code_in(const log::verdict& verdict) {
    return verdict.at == standing::never_existed ? error_code(errc::bad_gid)
           : verdict.at == standing::forgotten   ? error_code(errc::not_open)
                                                 : error_code();
}

}  // namespace

outcome outcome_desk::outcome_in(const gid& gid, const log::verdict& verdict) {
    const auto kind = verdict.at == standing::confirmed   ? outcome::kind::confirmed
                      : verdict.at == standing::cancelled ? outcome::kind::cancelled
                                                          : outcome::kind::unknown;
    const auto why = verdict.why != 0 ? error_code(static_cast<errc>(verdict.why)) : error_code();
    return {kind, gid, why, verdict.text};
}

void outcome_desk::ask(const gid& gid, outcome_handler handler) {
    if (context_.deserted())
        return handler.complete(errc::stopped, outcome());
    asio::dispatch(
        context_.strand(),
        [this, kept = context_.keep(), gid, handler = std::move(handler)]() mutable {
            const auto asked = std::make_shared<outcome_handler>(std::move(handler));
            ask_log(gid, [asked](error_code failed, const outcome& settled) {
                asked->complete(failed, settled);
            });
        }
    );
}

template <class Answer>
void outcome_desk::ask_log(const gid& gid, Answer answer) {
    if (context_.closed() || !core_.log.is_open())
        return answer(core_.partitions.unusable(), outcome());
    // We know the id of a log only after we have taken it over once.
    if (core_.log.id() && *core_.log.id() != gid.log)
        return answer(errc::bad_gid, outcome(outcome::kind::unknown, gid));
    core_.log->ask(
        [gid](db::connection& on) { return log::log_entries::verdict_on(on, gid); },
        core_.log.bound_read([answer, gid](error_code failed, const log::verdict& found) {
            answer(failed ? failed : code_in(found), outcome_in(gid, found));
        })
    );
}

void outcome_desk::settle(const gid& gid, outcome_handler handler) {
    if (context_.deserted())
        return handler.complete(errc::stopped, outcome());
    // Read the slot in the initiating call: afterwards nobody may touch it.
    const auto slot = handler.release_slot();
    const auto waiter = std::make_shared<settler>(core_.weak_from_this(), gid, std::move(handler));
    coro::detail::install_cancel_proxy<settler>(slot, waiter);
    asio::dispatch(context_.strand(), [this, kept = context_.keep(), waiter] {
        if (!core_.partitions.is_taking() || context_.closed() || context_.stopping())
            return settle_now(waiter);
        if (early_.size() >= context_.config().open_max)
            return waiter->answer(errc::too_many_open, outcome());
        early_.push_back(waiter);
    });
}

void outcome_desk::settle_now(const settler_ptr& waiter) {
    if (!waiter->waits())
        return;
    const auto found = core_.open.find(waiter->gid.number);
    if (core_.log.id() != waiter->gid.log)
        return settle_by_log(waiter);
    if (!found)
        return settle_logged(waiter);
    found->settlers.push_back(waiter);
    core_.calls.hurry(found);
}

// Handles a transaction that is not in memory: it has ended, or the recovery has not reached it and
// takes it up now.
void outcome_desk::settle_logged(const settler_ptr& waiter) {
    const auto gid = waiter->gid;
    if (context_.closed() || !core_.log.is_open())
        return waiter->answer(core_.partitions.unusable(), outcome());
    core_.log->ask(
        [gid](db::connection& on) { return log::log_entries::find(on, gid.number); },
        core_.log.bound_read(
            [this, kept = context_.keep(), waiter, gid, read = core_.open.begin_read()](
                error_code failed, const std::optional<log::logged>& found
            ) {
                if (failed)
                    return waiter->answer(failed, outcome(outcome::kind::unknown, gid));
                if (!found || found->ended || read->is_stale(gid.number))
                    return settle_by_log(waiter);
                auto* const home = core_.partitions.ours(found->partition);
                if (home != nullptr && !core_.open.contains(gid.number))
                    core_.recovery.take_up(*home, *found);
                const auto here = core_.open.find(gid.number);
                if (!here)
                    return waiter->answer(errc::standby, outcome(outcome::kind::unknown, gid));
                if (waiter->waits())
                    here->settlers.push_back(waiter);
                core_.calls.hurry(here);
                context_.arm();
            }
        )
    );
}

void outcome_desk::settle_by_log(const settler_ptr& waiter) {
    ask_log(waiter->gid, [waiter](error_code failed, const outcome& settled) {
        waiter->answer(failed, settled);
    });
}

void outcome_desk::dismiss(const settler& waiter) {
    const auto is_this = [&waiter](const settler_ptr& each) { return each.get() == &waiter; };
    std::erase_if(early_, is_this);
    if (const auto found = core_.open.find(waiter.gid.number))
        std::erase_if(found->settlers, is_this);
}

void outcome_desk::settle_early() {
    for (const auto& each : take_early())
        settle_now(each);
}

void outcome_desk::drop_early(error_code why) {
    for (const auto& each : take_early())
        each->answer(why, outcome(outcome::kind::unknown, each->gid));
}

std::vector<settler_ptr> outcome_desk::take_early() noexcept {
    return std::exchange(early_, {});
}

}  // namespace mortise::txn::detail
