// SPDX-License-Identifier: BSL-1.0
// Tries, cancels and confirms of the same branches, from two sessions at a time.
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/error.hpp"
#include "support/scratch_folder.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mortise::txn::barrier_race_test {
namespace {

using db::connection;

constexpr std::size_t window = 512;  // calls under way, of each session

/// What came of the calls of one kind.
struct tally {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> late{0};
    std::atomic<std::uint64_t> unknown{0};
    std::atomic<std::uint64_t> conflict{0};
    std::atomic<std::uint64_t> other{0};
};

class TxnBarrierRace : public testing::Test {
protected:
    struct planned {
        operation type;
        std::uint64_t number;
    };

    TxnBarrierRace() {
        run_once("CREATE TABLE account(free INTEGER, reserved INTEGER, used INTEGER)");
        run_once("INSERT INTO account VALUES(0, 0, 0)");
    }

    db::sqlite_config config() const {
        db::sqlite_config config;
        config.path = folder_.path() / "shop.db";
        config.busy_max = std::chrono::minutes(1);
        return config;
    }

    void run_once(const std::string& statement) const {
        asio::io_context context;
        db::sqlite session(context.get_executor(), config());
        session.async_run(
            [statement](connection& on) { on.run(statement.c_str()); },
            db::durability::lazy,
            [](error_code failed) { EXPECT_FALSE(failed) << failed.message(); }
        );
        context.run();
    }

    std::string account() const {
        asio::io_context context;
        db::sqlite session(context.get_executor(), config());
        std::string found;
        session.async_read(
            [](connection& on) {
                auto row = on.query("SELECT free, reserved, used FROM account");
                row.step();
                return row.text(0) + '/' + row.text(1) + '/' + row.text(2);
            },
            [&](error_code failed, std::string text) {
                EXPECT_FALSE(failed);
                found = std::move(text);
            }
        );
        context.run();
        return found;
    }

    static reply work(connection& on, operation type) {
        switch (type) {
        case operation::try_:
            on.run("UPDATE account SET free = free - 1, reserved = reserved + 1");
            break;
        case operation::confirm:
            on.run("UPDATE account SET reserved = reserved - 1, used = used + 1");
            break;
        case operation::cancel:
            on.run("UPDATE account SET free = free + 1, reserved = reserved - 1");
            break;
        }
        return reply::done();
    }

    void note(operation operation, error_code failed) {
        auto& to = tallies_[static_cast<std::size_t>(operation)];
        auto& count = !failed                          ? to.done
                      : failed == errc::late_try       ? to.late
                      : failed == errc::unknown_branch ? to.unknown
                      : failed == errc::conflict       ? to.conflict
                                                       : to.other;
        ++count;
    }

    /// Makes all those calls in that order, as one process.
    void make_calls(const std::vector<planned>& calls) {
        asio::io_context context;
        db::sqlite session(context.get_executor(), config());
        std::size_t next = 0;
        const std::function<void()> go_on = [&] {
            if (next == calls.size())
                return;
            const auto each = calls[next++];
            session.async_run(
                [each](connection& on) -> result<void> {
                    call call;
                    call.type = each.type;
                    call.gid = {1, each.number};
                    call.branch = 1;
                    call.epoch = 1;
                    call.term = 1;
                    call.time_left = std::chrono::minutes(1);
                    auto got = barrier::pass(on, call, [&] { return work(on, each.type); });
                    return got ? result<void>() : got.error();
                },
                db::durability::lazy,
                [&, each](error_code failed) {
                    note(each.type, failed);
                    go_on();
                }
            );
        };
        for (std::size_t i = 0; i < window; ++i)
            go_on();
        context.run();
    }

    /// Each process makes all the calls in an order of its own, though of the same transactions at
    /// about the same time.
    void race(std::size_t races, const std::vector<operation>& kinds) {
        std::vector<std::thread> processes;
        for (unsigned seed = 1; seed <= 2; ++seed) {
            std::vector<planned> calls;
            for (std::uint64_t number = 1; number <= races; ++number) {
                for (const auto kind : kinds)
                    calls.push_back({kind, number});
            }
            std::minstd_rand random(seed);
            const std::size_t near = 64;
            for (std::size_t at = 0; at < calls.size(); at += near) {
                const auto end = std::min(at + near, calls.size());
                std::shuffle(
                    calls.begin() + static_cast<std::ptrdiff_t>(at),
                    calls.begin() + static_cast<std::ptrdiff_t>(end),
                    random
                );
            }
            processes.emplace_back([this, calls = std::move(calls)] { make_calls(calls); });
        }
        for (auto& each : processes)
            each.join();
    }

    const tally& of(operation operation) const {
        return tallies_[static_cast<std::size_t>(operation)];
    }

    const mortise::test::scratch_folder folder_{mortise::test::scratch_folder::place::memory};
    std::array<tally, 3> tallies_;
};

TEST_F(TxnBarrierRace, ATryAndItsCancelLeaveNothingWhicheverComesFirst) {
    constexpr std::size_t races = 100'000;
    race(races, {operation::try_, operation::cancel});
    EXPECT_EQ(account(), "0/0/0");
    EXPECT_EQ(of(operation::cancel).done, 2 * races) << "a cancel always succeeds";
    EXPECT_EQ(of(operation::try_).done + of(operation::try_).late, 2 * races);
    EXPECT_GT(of(operation::try_).done, races / 10) << "each comes first often enough";
    EXPECT_GT(of(operation::try_).late, races / 10);
}

// No coordinator does both; a barrier lets one of them have its way, whichever it is.
TEST_F(TxnBarrierRace, OfAConfirmAndACancelOneHasItsWay) {
    constexpr std::size_t races = 30'000;
    race(races, {operation::try_, operation::confirm, operation::cancel});
    const auto& tries = of(operation::try_);
    const auto& confirms = of(operation::confirm);
    const auto& cancels = of(operation::cancel);
    EXPECT_EQ(tries.done + tries.late, 2 * races);
    EXPECT_EQ(confirms.done + confirms.unknown + confirms.conflict, 2 * races);
    EXPECT_EQ(cancels.done + cancels.conflict, 2 * races);
    const auto text = account();
    const auto used = std::stoull(text.substr(text.rfind('/') + 1));
    EXPECT_EQ(text, '-' + std::to_string(used) + "/0/" + std::to_string(used));
    EXPECT_GT(used, races / 100);
    EXPECT_GE(confirms.done, used) << "a repetition is done, too";
    EXPECT_LE(confirms.done, 2 * used);
}

}  // namespace
}  // namespace mortise::txn::barrier_race_test
