// SPDX-License-Identifier: BSL-1.0
#include "chaos/transfer_judge.hpp"

#include "chaos/looked_at_file.hpp"
#include "chaos/transfer_bank.hpp"

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace mortise::test {
namespace {

std::set<std::int64_t> confirmed_in(const std::filesystem::path& log) {
    const looked_at_file file(log);
    auto on = file.connect();
    std::set<std::int64_t> found;
    auto row = on.query("SELECT number FROM mortise_txn WHERE state = 2");
    while (row.step())
        found.insert(row.integer(0));
    return found;
}

std::map<std::int64_t, std::string>
outcomes_in(const std::filesystem::path& file, std::string& wrong) {
    std::map<std::int64_t, std::string> found;
    std::ifstream lines(file);
    std::int64_t number = 0;
    std::string outcome;
    while (lines >> number >> outcome) {
        const auto [at, is_new] = found.emplace(number, outcome);
        if (!is_new && at->second != outcome)
            wrong += std::to_string(number) + " was told both ways\n";
    }
    return found;
}

}  // namespace

transfer_verdict judge_transfers(const std::filesystem::path& folder) {
    const auto here = transfer_bank::read_books(folder / "here.db");
    const auto there = transfer_bank::read_books(folder / "there.db");
    transfer_verdict verdict;
    const auto expect = [&verdict](bool right, const std::string& fault) {
        if (!right)
            verdict.wrong += fault + '\n';
    };
    verdict.wrong = judge_books(here, there, confirmed_in(folder / "log.db"));
    const auto outcomes = outcomes_in(folder / "told", verdict.wrong);
    for (const auto& [number, outcome] : outcomes) {
        expect(
            here.confirmed.contains(number) == (outcome == "confirmed"),
            std::to_string(number) + " was told to be " + outcome + ", and is not"
        );
    }
    verdict.confirmed = here.confirmed.size();
    verdict.outcomes = outcomes.size();
    return verdict;
}

}  // namespace mortise::test
