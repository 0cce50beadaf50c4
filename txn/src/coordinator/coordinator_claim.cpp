// SPDX-License-Identifier: BSL-1.0
// Claims partitions of the log: all of them if there are no locks, else those whose locks we hold.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"
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

void coordinator_core::prepared(error_code failed, const log::log_facts& found) {
    if (failed)
        return log_failed(failed);
    no_term_ = {};
    log_id_ = found.id;
    txn_event opened;
    opened.what = txn_event::kind::log_opened;
    tell(opened);
    while (partitions_.size() < found.partitions) {
        const auto next = static_cast<std::uint32_t>(partitions_.size());
        partitions_.push_back(std::make_unique<partition>(next, seat_.strand()));
    }
    for (const auto& each : partitions_) {
        if (config_.locks)
            stand(*each);
        else
            take(*each, std::nullopt);
    }
    if (config_.locks && opening_) {
        deadlines_.set(early_timer_, now() + early_max, [this] { drop_early(unusable()); });
        arm();
    }
}

void coordinator_core::take(partition& at, const std::optional<fencing_token>& epoch) {
    if (epoch && !*epoch)
        return taken(at, mortise::errc::no_token, log::term());
    log_->take_over(
        *log_id_,
        at.id,
        epoch,
        with_log([self = shared_from_this(), &at, number = log_number_, claim = at.claim](
                     error_code failed, const log::term& by
                 ) {
            const bool late = number != self->log_number_ || claim != at.claim;
            if (!late && !self->closed_ && !self->stopping_)
                self->taken(at, failed, by);
        })
    );
}

void coordinator_core::taken(partition& at, error_code failed, const log::term& by) {
    if (failed && !config_.locks)
        return log_failed(failed);
    if (failed) {
        no_term_ = failed == errc::stepped_down ? error_code() : failed;
        at.refused = true;
        return at.left.set();
    }
    no_term_ = {};
    at.term = by;
    count_.partitions = owned();
    tell_of(txn_event::kind::partition_gained, at);
    at.leaving = at.recovering = at.recovery_done = false;
    at.recovered_to = 0;
    recover(at);
    listen();
    opening_ = false;
    reopen_pause_ = reopen_first;
    deadlines_.clear(early_timer_);
    for (const auto& each : std::exchange(early_, {}))
        start(each);
    if (!is_taking()) {
        for (const auto& each : std::exchange(early_settlers_, {}))
            settle_now(each);
    }
    purge();
    if (config_.locks && !balance_timer_)
        deadlines_.set(balance_timer_, now() + balance_every, [this] { balance(); });
    arm();
}

// Without locks we take all partitions, one after the other.
bool coordinator_core::is_taking() const {
    return opening_ || (!config_.locks && owned() != 0 && owned() != partitions_.size());
}

std::string coordinator_core::lock_name(const partition& at) const {
    return "mortise.txn/" + gid{*log_id_, at.id}.text();
}

void coordinator_core::stand(partition& at) {
    at.left.reset();
    at.stop = std::make_shared<asio::cancellation_signal>();
    ++standing_;
    asio::co_spawn(
        seat_.strand(),
        lead_partition(shared_from_this(), &at, log_number_),
        asio::bind_cancellation_slot(
            at.stop->slot(),
            [self = shared_from_this(),
             number = log_number_,
             kept = at.stop](const std::exception_ptr& failed) { self->stood(failed, number); }
        )
    );
}

void coordinator_core::stood(const std::exception_ptr& failed, std::uint64_t number) {
    try {
        if (failed)
            std::rethrow_exception(failed);
    } catch (const boost::system::system_error& wrong) {
        if (number == log_number_)
            no_term_ = wrong.code();
    }
    --standing_;
    end_stop();
}

// Stands for election repeatedly, until the log is opened anew.
asio::awaitable<void> coordinator_core::lead_partition(
    std::shared_ptr<coordinator_core> self, partition* at, std::uint64_t number
) {
    const auto locks = self->config_.locks;
    const auto time = self->time_;
    auto term = [self, at, number](const lease& held) { return self->serve(*at, held, number); };
    while (number == self->log_number_ && !self->closed_ && !self->stopping_) {
        auto leading = lead(*locks, self->lock_name(*at), election_options(), term);
        co_await std::move(leading);
        const bool left = std::exchange(at->leaving, false);
        if (std::exchange(at->refused, false) || (!left && self->no_term_))
            co_await coro::sleep_for(*time, balance_every);  // the log says that it cannot be ours
    }
}

// Serves one term: from the grant until the lock is lost or no longer needed.
asio::awaitable<void>
coordinator_core::serve(partition& at, const lease& held, std::uint64_t number) {
    if (number != log_number_ || closed_ || stopping_)
        co_return;
    at.left.reset();
    ++at.claim;
    take(at, held.token());
    std::exception_ptr lost;
    try {
        auto waiting = at.left.async_wait();
        co_await std::move(waiting);
    } catch (...) {
        lost = std::current_exception();
    }
    if (number == log_number_) {
        ++at.claim;  // late answers of the log about this claim are void
        step_down(at, errc::stepped_down);
    }
    if (lost)
        std::rethrow_exception(lost);
}

// Gives a partition up: another coordinator decides there now or soon. Without locks, the other one
// has taken the whole log.
void coordinator_core::step_down(partition& at, error_code why) {
    if (!at.term)
        return;
    end_stop_later();
    if (!config_.locks) {
        retire(why);
        no_term_ = why;
        return drop_all(why);
    }
    at.term.reset();
    tell_of(txn_event::kind::partition_lost, at, why);
    count_.partitions = owned();
    for (auto it = open_.begin(); it != open_.end();) {
        const auto transaction = it->second;
        if (transaction->home == &at) {
            it = open_.erase(it);
            drop(transaction, why);
        } else {
            ++it;
        }
    }
    at.left.set();
    for (auto& [name, each] : lanes_)
        pump(each);
    recover();  // there is room again
    arm();
}

// Gives all partitions up: releases their locks, and stops waiting for others.
void coordinator_core::retire(error_code why) {
    for (const auto& each : partitions_) {
        if (each->term)
            tell_of(txn_event::kind::partition_lost, *each, why);
        each->term.reset();
        if (const auto standing = std::exchange(each->stop, nullptr))
            standing->emit(asio::cancellation_type::terminal);
    }
    count_.partitions = 0;
    for (auto& [name, each] : lanes_)
        each.barred = false;
    deadlines_.clear(balance_timer_);
}

std::size_t coordinator_core::owned() const {
    return static_cast<std::size_t>(std::count_if(
        partitions_.begin(),
        partitions_.end(),
        [](const auto& each) { return each->term.has_value(); }
    ));
}

// Picks the partition for a new transaction; one with suspicious transactions is the last resort.
partition* coordinator_core::choose() {
    partition* suspicious = nullptr;
    for (std::size_t i = 0; i < partitions_.size(); ++i) {
        auto& next = *partitions_[next_partition_++ % partitions_.size()];
        if (!next.takes())
            continue;
        if (next.suspicious == 0)
            return &next;
        suspicious = &next;
    }
    return suspicious;
}

bool coordinator_core::decides_nothing() const {
    return std::all_of(partitions_.begin(), partitions_.end(), [](const auto& each) {
        return each->decides_nothing();
    });
}

// Hands a partition over. We decide what is under way there; the next coordinator finishes it.
void coordinator_core::leave(partition& at) {
    at.leaving = true;
    leave_when_decided(at);
}

void coordinator_core::leave_when_decided(partition& at) {
    if (at.leaving && at.term && at.decides_nothing())
        step_down(at, errc::stepped_down);
}

// Shares the partitions evenly. Every coordinator waits for every partition that it has not, so the
// queue of one that is ours shows how many coordinators there are.
void coordinator_core::balance() {
    balance_timer_.reset();
    if (owned() == 0)
        return;
    deadlines_.set(balance_timer_, now() + balance_every, [this] { balance(); });
    arm();
    if (++balances_ % balances_between_purges == 0)
        purge();  // also what coordinators ended that have died since
    const auto mine = std::find_if(partitions_.begin(), partitions_.end(), [](const auto& each) {
        return each->takes();
    });
    if (owned() < 2 || mine == partitions_.end())
        return;
    config_.locks->async_inspect(
        lock_name(**mine),
        coordinators_max,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this()](error_code failed, const std::optional<lock_view>& seen) {
                if (!failed && seen && !self->closed_)
                    self->balance_among(seen->waiters.size() + 1);
            }
        )
    );
}

void coordinator_core::balance_among(std::size_t coordinators) {
    const auto share = (partitions_.size() + coordinators - 1) / coordinators;
    auto have = static_cast<std::size_t>(std::count_if(
        partitions_.begin(), partitions_.end(), [](const auto& each) { return each->takes(); }
    ));
    for (auto it = partitions_.rbegin(); it != partitions_.rend() && have > share; ++it) {
        if (!(*it)->takes())
            continue;
        --have;
        leave(**it);
    }
}

}  // namespace mortise::txn::detail
