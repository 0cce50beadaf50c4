// SPDX-License-Identifier: BSL-1.0
// Several coordinators in separate processes, on one log and one lock store. They are killed and
// stopped while transfers are under way.
#include "chaos/looked_at_file.hpp"
#include "chaos/transfer_judge.hpp"
#include "support/amount.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::txn_take_over_test {
namespace {

using namespace std::chrono_literals;

constexpr auto ttl = 1s;  // of the actors' sessions

class TxnTakeOver : public testing::Test {
protected:
    std::unique_ptr<child_program> start(const std::string& mode, int count = 0) {
        std::vector<std::string> command{built_program("tests/txn_actor"), folder_.path(), mode};
        if (count != 0)
            command.push_back(std::to_string(count));
        command.push_back("locks=sqlite:" + (folder_.path() / "locks.db").string());
        return std::make_unique<child_program>(command, folder_.path() / "output");
    }
    std::unique_ptr<child_program> start_transfers() { return start("transfers", 1'000'000); }

    std::string printed() const {
        std::ifstream file(folder_.path() / "output");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// How many outcomes were told so far.
    std::size_t outcome_count() const {
        std::ifstream file(folder_.path() / "told");
        return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
    }
    bool gets_beyond(std::size_t than) const {
        return eventually([&] { return outcome_count() > than + 20; });
    }

    /// Stops the process at a moment when it has no database locked. A process that is stopped in
    /// the middle of a write keeps all others from writing until it is resumed.
    void suspend_between_writes(child_program& program) const {
        for (;;) {
            program.suspend();
            if (can_be_written("log.db") && can_be_written("here.db") &&
                can_be_written("there.db") && can_be_written("locks.db") && can_be_opened())
                return;
            program.resume();
        }
    }
    bool can_be_written(const char* name) const {
        const looked_at_file file(folder_.path() / name);
        const auto on = file.connect();
        ::sqlite3_busy_timeout(on.handle(), 100);
        if (::sqlite3_exec(on.handle(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK)
            return false;
        return ::sqlite3_exec(on.handle(), "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK;
    }

    // Who makes or replaces files beside a database has its folder locked meanwhile.
    bool can_be_opened() const {
        for (const auto& each : std::filesystem::recursive_directory_iterator(folder_.path())) {
            if (each.path().filename() != "lock")
                continue;
            const int file = ::open(each.path().c_str(), O_RDWR | O_CLOEXEC);
            const bool is_free = file < 0 || ::flock(file, LOCK_EX | LOCK_NB) == 0;
            if (file >= 0)
                ::close(file);
            if (!is_free)
                return false;
        }
        return true;
    }

    void expect_settled() {
        const auto last = start("settle");
        ASSERT_EQ(last->wait(60s), 0) << printed();
        EXPECT_EQ(judge_transfers(folder_.path()).wrong, "");
    }

    // In memory: a commit on a slow disk would have its database locked nearly always.
    const scratch_folder folder_{scratch_folder::place::memory};
};

TEST_F(TxnTakeOver, AStandbyGoesOnWhereTheDeadOneWas) {
    auto first = start_transfers();
    ASSERT_TRUE(gets_beyond(0)) << printed();
    auto second = start_transfers();
    first->send(SIGKILL);
    static_cast<void>(first->wait());
    const machine_delay delay;
    const auto killed = clock::now();
    EXPECT_TRUE(gets_beyond(outcome_count())) << printed();
    EXPECT_LT(clock::now() - killed, ttl + 1s + 2s + delay.so_far())
        << "with the time that it takes to be told";
    second->send(SIGKILL);
    static_cast<void>(second->wait());
    expect_settled();
}

TEST_F(TxnTakeOver, AZombieThatGoesOnChangesNothing) {
    auto zombie = start_transfers();
    ASSERT_TRUE(gets_beyond(0)) << printed();
    auto other = start_transfers();
    for (int i = 0; i < 3; ++i) {
        suspend_between_writes(*zombie);
        const auto before = outcome_count();
        EXPECT_TRUE(gets_beyond(before)) << "the other one has taken over; " << printed();
        zombie->resume();
        EXPECT_TRUE(gets_beyond(outcome_count()));
        std::swap(zombie, other);
    }
    for (auto* each : {&zombie, &other}) {
        (*each)->send(SIGKILL);
        static_cast<void>((*each)->wait());
    }
    expect_settled();
}

// Every two seconds one of three coordinators is killed, and another takes its place.
TEST_F(TxnTakeOver, ThreeCoordinatorsAreKilledOneAfterTheOther) {
    std::vector<std::unique_ptr<child_program>> all;
    for (int i = 0; i < 3; ++i)
        all.push_back(start_transfers());
    ASSERT_TRUE(gets_beyond(0)) << printed();
    const std::chrono::seconds span(amount("MORTISE_TAKE_OVER_SECONDS", 12, 60));
    const auto end = std::chrono::steady_clock::now() + span;
    std::size_t next = 0;
    while (std::chrono::steady_clock::now() < end) {
        const auto before = outcome_count();
        EXPECT_FALSE(eventually([&] { return all[next]->ended(); }, 2s)) << printed();
        EXPECT_TRUE(gets_beyond(before)) << "transfers go on";
        all[next]->send(SIGKILL);
        static_cast<void>(all[next]->wait());
        all[next] = start_transfers();
        next = (next + 1) % all.size();
    }
    for (const auto& each : all) {
        each->send(SIGKILL);
        static_cast<void>(each->wait());
    }
    expect_settled();
    const auto verdict = judge_transfers(folder_.path());
    RecordProperty("told", std::to_string(verdict.outcomes));
    RecordProperty("confirmed", std::to_string(verdict.confirmed));
    EXPECT_GT(verdict.outcomes, static_cast<std::uint64_t>(span.count()) * 16);
}

}  // namespace
}  // namespace mortise::test::txn_take_over_test
