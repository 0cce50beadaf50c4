// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_BANK_HPP
#define MORTISE_TESTS_SIM_TXN_BANK_HPP

#include "mortise/db/connection.hpp"
#include "sim/simulated_bank.hpp"

#include <memory>
#include <string>

struct sqlite3;

namespace mortise::test {

/// A bank that makes reservations, behind the barrier of an SQLite database.
class txn_bank final : public simulated_bank {
public:
    txn_bank(sim::world& in, std::string name);
    ~txn_bank() override;

    std::shared_ptr<txn::participant> seen_from(sim::process& caller) override;

    /// Carries out the call at once.
    result<txn::reply> answer(const txn::call& call);

    transfer_ledger::books read() override { return transfer_ledger::read(*on_); }

private:
    struct closer {
        void operator()(sqlite3* database) const noexcept;
    };

    std::unique_ptr<sqlite3, closer> file_;
    std::unique_ptr<db::connection> on_;
};

}  // namespace mortise::test

#endif
