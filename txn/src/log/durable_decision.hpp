// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_DURABLE_DECISION_HPP
#define MORTISE_TXN_LOG_DURABLE_DECISION_HPP

#include "mortise/txn/gid.hpp"

namespace mortise::txn::log {

class decision_log;

/// The proof that a decision is durable, without which no decided branch is called. Only the log
/// makes one, after its commit.
class durable_decision {
public:
    const txn::gid& gid() const noexcept { return gid_; }
    bool confirm() const noexcept { return confirm_; }

private:
    friend class decision_log;
    durable_decision(const txn::gid& of, bool confirm) noexcept : gid_(of), confirm_(confirm) {}

    txn::gid gid_;
    bool confirm_;
};

}  // namespace mortise::txn::log

#endif
