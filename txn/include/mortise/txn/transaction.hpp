// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_TRANSACTION_HPP
#define MORTISE_TXN_TRANSACTION_HPP

#include "mortise/lease.hpp"
#include "mortise/txn/branch.hpp"
#include "mortise/txn/branch_work.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn {

/// A transaction to run: its branches and its conditions. A value; nothing happens before
/// `coordinator::async_run`.
class transaction {
public:
    transaction() = default;

    /// Adds a branch of the participant with this name at the coordinator. Branches run in
    /// parallel, except for the order given by `after`: tries and confirms follow it, cancels
    /// reverse it.
    branch_number
    add(std::string participant,
        std::string payload,
        std::initializer_list<branch_number> after = {});

    /// Adds a branch whose work is a closure, for participants that run such: `xa_postgres` and
    /// `xa_mysql`.
    ///
    ///     auto left = order.add("bank", txn::on_postgres(pay));
    ///
    /// The closure is not written to the log. It may run more than once, each time in a transaction
    /// of its own of which at most one takes effect, and after `async_run` has completed if the
    /// transaction was cancelled: let it own what it needs.
    ///
    /// @return its number, and the value that it will give.
    template <class T>
    branch_value<T>
    add(std::string participant,
        branch_closure<T> closure,
        std::initializer_list<branch_number> after = {}) {
        const auto number = add(std::move(participant), std::string(), after);
        works_.resize(number);
        works_.back() = closure.work();
        return branch_value<T>(closure.work(), number);
    }

    /// Runs the transaction under a lock: the lock's token goes with every call, and a barrier that
    /// has seen a higher one refuses the try. If the lease is lost before the decision, the
    /// transaction is cancelled.
    ///
    /// The lease is not kept: hold it until the transaction is decided.
    transaction& under(const lease& held);

    /// Makes a repetition harmless: a second transaction with the same key and the same branches
    /// gets the outcome of the first, even if its locks and its trace context differ.
    transaction& key(std::string unique);

    /// Cancels the transaction if not all tries have succeeded by then, counted from `async_run`.
    transaction& deadline(std::chrono::milliseconds from_now);

    /// Limits how often a try without a clear answer is sent before the transaction is cancelled:
    /// up to 1,000; zero: the coordinator's limit. Confirms and cancels are repeated without limit.
    transaction& try_attempts(std::uint32_t most);

    /// Sets the W3C trace context for all calls.
    transaction& traceparent(std::string value);

    // For the coordinator.
    const std::vector<branch>& branches() const noexcept { return branches_; }
    /// The closure of a branch; null: it has a payload only.
    std::shared_ptr<branch_work> work_of(branch_number number) const {
        return number <= works_.size() ? works_[number - 1] : nullptr;
    }
    const std::string& key() const noexcept { return key_; }
    bool keyed() const noexcept { return keyed_; }
    const std::string& traceparent() const noexcept { return traceparent_; }
    const std::vector<lease_view>& leases() const noexcept { return leases_; }
    /// Zero: the coordinator's default.
    std::chrono::milliseconds deadline() const noexcept { return deadline_; }
    std::uint32_t try_attempts() const noexcept { return try_attempts_; }

private:
    std::vector<branch> branches_;
    std::vector<std::shared_ptr<branch_work>> works_;
    std::vector<lease_view> leases_;
    std::string key_;
    bool keyed_ = false;
    std::string traceparent_;
    std::chrono::milliseconds deadline_{0};
    std::uint32_t try_attempts_ = 0;
};

}  // namespace mortise::txn

#endif
