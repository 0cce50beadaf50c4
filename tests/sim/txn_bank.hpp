// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_BANK_HPP
#define MORTISE_TESTS_SIM_TXN_BANK_HPP

#include "mortise/db/connection.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/txn/participant.hpp"
#include "support/transfer_ledger.hpp"

#include <memory>
#include <string>

struct sqlite3;

namespace mortise::test {

/// A bank on its own machine in a simulated world, reached by messages. What it has committed
/// survives every crash.
class txn_bank {
public:
    txn_bank(sim::world& in, std::string name);
    ~txn_bank();
    txn_bank(const txn_bank&) = delete;
    txn_bank& operator=(const txn_bank&) = delete;

    sim::process& host() noexcept { return host_; }

    /// The participant as a coordinator in `caller` sees it.
    std::shared_ptr<txn::participant> seen_from(sim::process& caller);

    /// Carries out the call at once.
    result<txn::reply> answer(const txn::call& call);

    transfer_ledger::books read() { return transfer_ledger::read(*on_); }

private:
    struct closer {
        void operator()(sqlite3* database) const noexcept;
    };

    sim::process& host_;
    std::unique_ptr<sqlite3, closer> file_;
    std::unique_ptr<db::connection> on_;
};

}  // namespace mortise::test

#endif
