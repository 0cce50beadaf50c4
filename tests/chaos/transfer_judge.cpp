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

std::map<std::int64_t, std::string> told_in(const std::filesystem::path& file, std::string& wrong) {
    std::map<std::int64_t, std::string> found;
    std::ifstream lines(file);
    std::int64_t number = 0;
    std::string what;
    while (lines >> number >> what) {
        const auto [at, is_new] = found.emplace(number, what);
        if (!is_new && at->second != what)
            wrong += std::to_string(number) + " was told both ways\n";
    }
    return found;
}

}  // namespace

transfer_verdict judge_transfers(const std::filesystem::path& folder) {
    const auto here = transfer_bank::read_books(folder / "here.db");
    const auto there = transfer_bank::read_books(folder / "there.db");
    transfer_verdict made;
    const auto expect = [&made](bool right, const std::string& what) {
        if (!right)
            made.wrong += what + '\n';
    };
    made.wrong = judge_books(here, there, confirmed_in(folder / "log.db"));
    const auto told = told_in(folder / "told", made.wrong);
    for (const auto& [number, what] : told) {
        expect(
            here.confirmed.contains(number) == (what == "confirmed"),
            std::to_string(number) + " was told to be " + what + ", and is not"
        );
    }
    made.confirmed = here.confirmed.size();
    made.told = told.size();
    return made;
}

}  // namespace mortise::test
