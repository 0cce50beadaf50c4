// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_FLOOR_HPP
#define MORTISE_TESTS_SIM_TXN_FLOOR_HPP

#include "mortise/sim/lock_server.hpp"
#include "mortise/txn/outcome.hpp"
#include "sim/txn_bank.hpp"
#include "support/fault_vfs.hpp"
#include "support/scratch_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace mortise::test {

/// What all processes of a simulated run share, and what a judge saw of it.
class txn_floor {
public:
    explicit txn_floor(sim::world& in) : locks(in, "locks"), here(in, "here"), there(in, "there") {}

    std::filesystem::path log() const { return folder.path() / "log.db"; }

    /// Notes an outcome that a caller heard.
    void tell(const txn::outcome& outcome) {
        if (outcome.unknown())
            return;
        const auto [known, is_new] = outcomes.emplace(outcome.gid().number, outcome.confirmed());
        if (!is_new && known->second != outcome.confirmed())
            fail(outcome.gid().text() + " was told both ways");
    }
    void fail(const std::string& text) { verdict += text + '\n'; }

    const scratch_folder folder{scratch_folder::place::memory};
    fault_vfs disk;
    sim::lock_server locks;
    txn_bank here;
    txn_bank there;
    bool chaos = true;
    std::set<std::size_t> finished;  ///< Processes that found nothing left to do.
    std::map<std::uint64_t, bool> outcomes;
    std::uint64_t errors = 0;
    std::string verdict;
};

}  // namespace mortise::test

#endif
