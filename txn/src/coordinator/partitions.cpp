// SPDX-License-Identifier: BSL-1.0
// Claims partitions of the log, serves them, and hands them over.
#include "coordinator/partitions.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/election.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

// How long transactions wait for the first partition after the log was opened.
constexpr milliseconds early_max{1'000};
constexpr milliseconds balance_every{1'000};
constexpr std::size_t coordinators_max = 256;
constexpr unsigned balances_between_purges = 60;

}  // namespace

void partitions::open(const log::log_facts& found) {
    no_term_ = {};
    txn_event opened;
    opened.type = txn_event::kind::log_opened;
    context_.report(opened);
    while (all_.size() < found.partitions) {
        const auto next = static_cast<std::uint32_t>(all_.size());
        all_.push_back(std::make_unique<partition>(next, context_.strand()));
    }
    for (const auto& each : all_) {
        if (context_.config().locks)
            stand(*each);
        else
            claim(*each, std::nullopt);
    }
    if (context_.config().locks && opening_) {
        context_.set_timer(early_timer_, context_.now() + early_max, [this] {
            stop_waiting(unusable());
        });
        context_.arm();
    }
}

void partitions::claim(partition& at, const std::optional<fencing_token>& epoch) {
    if (epoch && !*epoch)
        return claimed(at, mortise::errc::no_token, log::term());
    core_.log->take_over(
        *core_.log.id(),
        at.id,
        epoch,
        core_.log.bound([this,
                         kept = context_.keep(),
                         &at,
                         number = core_.log.number(),
                         claim = at.claim](error_code failed, const log::term& by) {
            const bool late = number != core_.log.number() || claim != at.claim;
            if (!late && !context_.closed() && !context_.stopping())
                claimed(at, failed, by);
        })
    );
}

void partitions::claimed(partition& at, error_code failed, const log::term& by) {
    if (failed && !context_.config().locks)
        return core_.log.fail(failed);
    if (failed) {
        no_term_ = failed == errc::stepped_down ? error_code() : failed;
        at.refused = true;
        return at.left.set();
    }
    no_term_ = {};
    at.term = by;
    context_.count.partitions = owned();
    context_.report(txn_event::kind::partition_gained, at);
    at.leaving = at.recovering = at.recovery_done = false;
    at.recovered_to = 0;
    core_.recovery.recover(at);
    core_.orders.listen();
    core_.prepared.begin();
    opening_ = false;
    core_.log.reset_pause();
    context_.clear_timer(early_timer_);
    core_.admission.start_early();
    if (!is_taking())
        core_.outcomes.settle_early();
    core_.recovery.purge();
    if (context_.config().locks && !balance_timer_)
        context_.set_timer(balance_timer_, context_.now() + balance_every, [this] { balance(); });
    context_.arm();
}

// Without locks we take all partitions, one after the other.
bool partitions::is_taking() const {
    return opening_ || (!context_.config().locks && owned() != 0 && owned() != all_.size());
}

std::string partitions::lock_name(const partition& at) const {
    return "mortise.txn/" + gid{*core_.log.id(), at.id}.text();
}

void partitions::stand(partition& at) {
    at.left.reset();
    at.stop = std::make_shared<asio::cancellation_signal>();
    ++standing_;
    asio::co_spawn(
        context_.strand(),
        lead_terms(context_.keep(), &at, core_.log.number()),
        asio::bind_cancellation_slot(
            at.stop->slot(),
            [this, kept = context_.keep(), number = core_.log.number(), stop = at.stop](
                const std::exception_ptr& failed
            ) { end_standing(failed, number); }
        )
    );
}

void partitions::end_standing(const std::exception_ptr& failed, std::uint64_t number) {
    try {
        if (failed)
            std::rethrow_exception(failed);
    } catch (const boost::system::system_error& wrong) {
        if (number == core_.log.number())
            no_term_ = wrong.code();
    }
    --standing_;
    core_.end_stop();
}

// Stands for election repeatedly, until the log is opened anew.
asio::awaitable<void>
partitions::lead_terms(std::shared_ptr<const void> kept, partition* at, std::uint64_t number) {
    const auto locks = context_.config().locks;
    const auto time = context_.time();
    auto term = [this, kept, at, number](const lease& held) { return serve(*at, held, number); };
    while (number == core_.log.number() && !context_.closed() && !context_.stopping()) {
        co_await lead(*locks, lock_name(*at), election_options(), term);
        const bool left = std::exchange(at->leaving, false);
        if (std::exchange(at->refused, false) || (!left && no_term_))
            co_await coro::sleep_for(*time, balance_every);  // the log says that it cannot be ours
    }
}

// Serves one term: from the grant until the lock is lost or no longer needed.
asio::awaitable<void> partitions::serve(partition& at, const lease& held, std::uint64_t number) {
    if (number != core_.log.number() || context_.closed() || context_.stopping())
        co_return;
    at.left.reset();
    ++at.claim;
    claim(at, held.token());
    std::exception_ptr lost;
    try {
        co_await at.left.async_wait();
    } catch (...) {
        lost = std::current_exception();
    }
    if (number == core_.log.number()) {
        ++at.claim;  // late answers of the log about this claim are void
        step_down(at, errc::stepped_down);
    }
    if (lost)
        std::rethrow_exception(lost);
}

// Without locks, the other coordinator has taken the whole log.
void partitions::step_down(partition& at, error_code why) {
    if (!at.term)
        return;
    core_.end_stop_later();
    if (!context_.config().locks) {
        retire(why);
        return core_.runs.drop_all(why);
    }
    at.term.reset();
    context_.count.partitions = owned();
    context_.report(txn_event::kind::partition_lost, at, why);
    core_.runs.drop_all_in(at, why);
    at.left.set();
    core_.calls.pump_all();
    core_.recovery.recover();  // there is room again
    context_.arm();
}

void partitions::retire(error_code why) {
    std::vector<const partition*> lost;
    for (const auto& each : all_) {
        if (each->term)
            lost.push_back(each.get());
        each->term.reset();
    }
    context_.count.partitions = 0;
    for (const auto* each : lost)
        context_.report(txn_event::kind::partition_lost, *each, why);
    for (const auto& each : all_) {
        if (const auto standing = std::exchange(each->stop, nullptr))
            standing->emit(asio::cancellation_type::terminal);
    }
    context_.clear_timer(balance_timer_);
    no_term_ = why;
}

std::size_t partitions::owned() const {
    return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const auto& each) {
        return each->term.has_value();
    }));
}

// Picks the partition for a new transaction; one with suspicious transactions is the last resort.
partition* partitions::choose() {
    partition* suspicious = nullptr;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        auto& next = *all_[next_++ % all_.size()];
        if (!next.takes())
            continue;
        if (next.suspicious == 0)
            return &next;
        suspicious = &next;
    }
    return suspicious;
}

bool partitions::decides_nothing() const {
    return std::all_of(all_.begin(), all_.end(), [](const auto& each) {
        return each->decides_nothing();
    });
}

// Hands a partition over. We decide what is under way there; the next coordinator finishes it.
void partitions::leave(partition& at) {
    at.leaving = true;
    leave_when_decided(at);
}

void partitions::leave_when_decided(partition& at) {
    if (at.leaving && at.term && at.decides_nothing())
        step_down(at, errc::stepped_down);
}

// Shares the partitions evenly. Every coordinator waits for every partition that it has not, so the
// queue of one that is ours shows how many coordinators there are.
void partitions::balance() {
    balance_timer_.reset();
    if (owned() == 0)
        return;
    context_.set_timer(balance_timer_, context_.now() + balance_every, [this] { balance(); });
    context_.arm();
    if (++balances_ % balances_between_purges == 0)
        core_.recovery.purge();  // also what coordinators ended that have died since
    const auto mine =
        std::find_if(all_.begin(), all_.end(), [](const auto& each) { return each->takes(); });
    if (owned() < 2 || mine == all_.end())
        return;
    context_.config().locks->async_inspect(
        lock_name(**mine),
        coordinators_max,
        asio::bind_executor(
            context_.strand(),
            [this,
             kept = context_.keep()](error_code failed, const std::optional<lock_view>& seen) {
                if (!failed && seen && !context_.closed())
                    balance_among(seen->waiters.size() + 1);
            }
        )
    );
}

void partitions::balance_among(std::size_t coordinators) {
    const auto share = (all_.size() + coordinators - 1) / coordinators;
    auto have = static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(), [](const auto& each) { return each->takes(); })
    );
    for (auto it = all_.rbegin(); it != all_.rend() && have > share; ++it) {
        if (!(*it)->takes())
            continue;
        --have;
        leave(**it);
    }
}

// A commit that failed may have been done. What is refused because of it was not.
error_code partitions::unusable() const {
    if (context_.closed() || context_.stopping())
        return errc::stopped;
    if (no_term_ == mortise::errc::commit_unknown)
        return mortise::errc::poisoned;
    return no_term_ ? no_term_ : error_code(errc::standby);
}

partition* partitions::ours(std::uint32_t id) const {
    return id < all_.size() && all_[id]->term ? all_[id].get() : nullptr;
}

void partitions::stop_waiting(error_code why) {
    opening_ = false;
    context_.clear_timer(early_timer_);
    core_.admission.drop_early(why);
    core_.outcomes.drop_early(why);
}

void partitions::close() noexcept {
    for (const auto& each : all_)
        each->left.close();
}

}  // namespace mortise::txn::detail
