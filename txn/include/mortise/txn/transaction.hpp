// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_TRANSACTION_HPP
#define MORTISE_TXN_TRANSACTION_HPP

#include "mortise/lease.hpp"
#include "mortise/txn/branch.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace mortise::txn {

/// A transaction that is to be carried out: its branches, and under which terms. A value; nothing
/// happens before `coordinator::async_run`.
class transaction {
public:
    transaction() = default;

    /// Adds a branch of the participant that has this name at the coordinator. Branches run in
    /// parallel, but for those that are to come after others: tries and confirms in that order,
    /// cancels in the opposite one.
    branch_number
    add(std::string participant,
        std::string payload,
        std::initializer_list<branch_number> after = {});

    /// The lock's token goes with every call, and a barrier that has seen a higher one refuses the
    /// try. If the lease is lost before the decision, the transaction is cancelled.
    ///
    /// The lease is not kept: hold it until the transaction is decided.
    transaction& under(const lease& held);

    /// Who runs a transaction with the same key and the same branches again gets the outcome of the
    /// first one, whatever locks and trace come with the second.
    transaction& key(std::string unique);

    /// If not all tries have succeeded by then, counted from `async_run`, it is cancelled.
    transaction& deadline(std::chrono::milliseconds from_now);

    /// How often a try is sent that gets no clear answer, before the transaction is cancelled: up
    /// to 1,000; zero: as the coordinator has it. What is decided is repeated until it is done.
    transaction& try_attempts(std::uint32_t most);

    /// W3C trace context for all calls.
    transaction& traceparent(std::string value);

    // For the coordinator.
    const std::vector<branch>& branches() const noexcept { return branches_; }
    const std::string& key() const noexcept { return key_; }
    bool keyed() const noexcept { return keyed_; }
    const std::string& traceparent() const noexcept { return traceparent_; }
    const std::vector<lease_view>& leases() const noexcept { return leases_; }
    /// Zero: the coordinator's usual time.
    std::chrono::milliseconds deadline() const noexcept { return deadline_; }
    std::uint32_t try_attempts() const noexcept { return try_attempts_; }

private:
    std::vector<branch> branches_;
    std::vector<lease_view> leases_;
    std::string key_;
    bool keyed_ = false;
    std::string traceparent_;
    std::chrono::milliseconds deadline_{0};
    std::uint32_t try_attempts_ = 0;
};

}  // namespace mortise::txn

#endif
