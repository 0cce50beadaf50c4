// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_SIMULATED_BANK_HPP
#define MORTISE_TESTS_SIM_SIMULATED_BANK_HPP

#include "mortise/sim/process.hpp"
#include "mortise/txn/participant.hpp"
#include "support/transfer_ledger.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::test {

/// A bank on its own machine in a simulated world, reached by messages. What it has committed
/// survives every crash.
class simulated_bank {
public:
    /// How long a coordinator waits for an answer.
    static constexpr std::chrono::milliseconds answer_max{400};

    simulated_bank(sim::world& in, std::string name);
    simulated_bank(const simulated_bank&) = delete;
    simulated_bank& operator=(const simulated_bank&) = delete;
    virtual ~simulated_bank() = default;

    sim::process& host() noexcept { return host_; }

    /// The participant as a coordinator in `caller` sees it.
    virtual std::shared_ptr<txn::participant> seen_from(sim::process& caller) = 0;

    virtual transfer_ledger::books read() = 0;

    /// Leaves something prepared that its log does not know.
    /// @return false if no transactions can be prepared here.
    virtual bool leave_orphan(const txn::gid& /*of*/) { return false; }
    /// The branches of a log that are prepared here.
    virtual std::size_t prepared_of(std::uint64_t /*log*/) const { return 0; }

private:
    sim::process& host_;
};

}  // namespace mortise::test

#endif
