// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_FLOOR_HPP
#define MORTISE_TESTS_SIM_TXN_FLOOR_HPP

#include "mortise/sim/lock_server.hpp"
#include "mortise/txn/outcome.hpp"
#include "sim/simulated_bank.hpp"
#include "support/fault_vfs.hpp"
#include "support/scratch_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace mortise::test {

/// What all processes of a simulated run share, and what a judge saw of it.
class txn_floor {
public:
    using make_bank = std::unique_ptr<simulated_bank> (*)(sim::world& in, std::string name);

    txn_floor(sim::world& in, make_bank first, make_bank second)
        : locks(in, "locks"), here(first(in, "here")), there(second(in, "there")) {}

    static constexpr std::uint64_t foreign_log = 1;

    std::filesystem::path log() const { return folder.path() / "log.db"; }

    /// Notes an outcome that a caller heard.
    void tell(const txn::outcome& outcome) {
        if (outcome.unknown())
            return;
        log_id = outcome.gid().log;
        const auto [known, is_new] = outcomes.emplace(outcome.gid().number, outcome.confirmed());
        if (!is_new && known->second != outcome.confirmed())
            fail(outcome.gid().text() + " was told both ways");
    }
    void fail(const std::string& text) { verdict += text + '\n'; }

    const scratch_folder folder{scratch_folder::place::memory};
    fault_vfs disk;
    sim::lock_server locks;
    const std::unique_ptr<simulated_bank> here;
    const std::unique_ptr<simulated_bank> there;
    bool chaos = true;
    /// How many transactions have one branch, and how many of the others one that only reads.
    double short_ways = 0;
    std::set<std::size_t> finished;  ///< Processes that found nothing left to do.
    std::map<std::uint64_t, bool> outcomes;
    std::uint64_t log_id = 0;  ///< Zero: nobody has heard of it yet.
    std::size_t foreign = 0;   ///< Branches of another log that were left prepared.
    std::size_t orphans = 0;   ///< Branches of this log that it does not know, likewise.
    std::uint64_t errors = 0;
    std::string verdict;
};

}  // namespace mortise::test

#endif
