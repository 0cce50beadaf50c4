// SPDX-License-Identifier: BSL-1.0
// Logs on disks that fail, that lose what was not synced, and that hold something else.
#include "unit/txn/log_disk_fixture.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::log_storage_test {
namespace {

using namespace std::chrono_literals;

class TxnLogStorage : public log_disk_fixture {
protected:
    /// Whether every participant heard the same of each transaction, and what callers were told is
    /// so.
    void expect_consistent() {
        std::map<txn::gid, std::set<txn::operation>> ends;
        for (const auto* each : {stock_.get(), wallet_.get()}) {
            for (const auto& call : each->calls()) {
                if (call.type != txn::operation::try_)
                    ends[call.gid].insert(call.type);
            }
        }
        for (const auto& [gid, operations] : ends)
            EXPECT_EQ(operations.size(), 1u) << gid.text() << " was confirmed and cancelled";
        for (const auto& [gid, confirmed] : outcomes_) {
            const auto outcome = asked(gid);
            EXPECT_EQ(outcome.confirmed(), confirmed) << gid.text();
            EXPECT_EQ(outcome.cancelled(), !confirmed) << gid.text();
        }
    }

    static txn::reply ahead_by_term(std::uint64_t term) {
        txn::reply::evidence seen;
        seen.term = term;
        return txn::reply::ahead(seen);
    }
    /// Whether the log says nothing else of that one than what was told.
    bool agrees(const txn::gid& gid, bool confirmed) {
        const auto code = code_of([&] { static_cast<void>(asked(gid)); });
        if (code)
            return true;  // it does not know it
        const auto found = asked(gid);
        return found.unknown() || found.confirmed() == confirmed;
    }

    /// Runs transactions, some of them confirmed and some cancelled, and remembers what is told.
    void run_some(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            wallet_->answer_by(
                i % 3 == 2 ? scripted_participant::answer_function(
                                 refusing(txn::operation::try_, "no money")
                             )
                           : scripted_participant::answer_function()
            );
            try {
                const auto outcome = run(of_both());
                if (!outcome.unknown())
                    outcomes_.emplace(outcome.gid(), outcome.confirmed());
                else
                    EXPECT_TRUE(outcome.why());
            } catch (const boost::system::system_error& failed) {
                codes_.insert(failed.code());
            }
        }
        wallet_->answer_by({});
    }

    void sql(const char* statement) const {
        sqlite3* db = nullptr;
        EXPECT_EQ(::sqlite3_open(log().c_str(), &db), SQLITE_OK);
        ::sqlite3_busy_timeout(db, 5'000);
        EXPECT_EQ(::sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK);
        ::sqlite3_close(db);
    }

    std::map<txn::gid, bool> outcomes_;
    std::set<error_code> codes_;
};

TEST_F(TxnLogStorage, GoesOnAfterWhicheverWriteOrSyncFails) {
    open(on_disk());
    run_some(3);
    const int usual = disk_.operations;
    EXPECT_GT(usual, 10);
    for (const int failure : {SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE}) {
        for (const bool for_good : {false, true}) {
            for (int at = 1; at <= 24; at += 3) {
                SCOPED_TRACE(std::to_string(failure) + " at " + std::to_string(at));
                disk_.result = failure;
                disk_.for_good = for_good;
                disk_.operations = 0;
                disk_.fail_at = at;
                run_some(3);
                disk_.fail_at = 0;
                ASSERT_TRUE(eventually([&] { return !refusal(of_both()); })) << "it goes on";
            }
        }
    }
    EXPECT_TRUE(codes_.contains(mortise::errc::commit_unknown));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().open == 0; }));
    expect_consistent();
}

TEST_F(TxnLogStorage, SaysWhyNothingCanBeWritten) {
    open(on_disk());
    run_some(1);
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    EXPECT_EQ(refusal(of_both()), mortise::errc::commit_unknown);
    const auto why = refusal(of_both());
    EXPECT_TRUE(why == mortise::errc::poisoned || why == txn::errc::standby)
        << "it does not pretend, and has not begun anything: " << why.message();
    disk_.log_sync_result = 0;
    EXPECT_TRUE(eventually([&] { return !refusal(of_both()); }));
    expect_consistent();
}

TEST_F(TxnLogStorage, APowerFailureLosesNoDecisionThatWasTold) {
    for (const std::size_t kept : {0u, 1u, 2u, 3u, 5u, 8u, 1'000u}) {
        SCOPED_TRACE(kept);
        open(on_disk());
        run_some(4);
        lose_power(kept);
    }
    open(on_disk());
    EXPECT_FALSE(refusal(of_both()));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().open == 0; }));
    EXPECT_GE(outcomes_.size(), 28u);
    expect_consistent();
}

// What a disk may do to the end of the write-ahead log.
TEST_F(TxnLogStorage, ATornEndOfTheLogCostsNothingThatWasTold) {
    const auto tail = [&](const auto& damage) {
        open();
        run_some(4);
        // As the process dies here its files stay as they are; a clean end would empty this one.
        const auto wal = log().string() + "-wal";
        const auto copy = folder_.path() / "copy.db";
        std::filesystem::copy_file(log(), copy, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::copy_file(
            wal, copy.string() + "-wal", std::filesystem::copy_options::overwrite_existing
        );
        close();
        std::filesystem::remove(wal);
        std::filesystem::remove(log().string() + "-shm");
        std::filesystem::rename(copy, log());
        std::filesystem::rename(copy.string() + "-wal", wal);
        damage(std::filesystem::path(wal));
    };
    // Beyond its end: a frame that was begun, and never synced.
    tail([](const auto& wal) { std::ofstream(wal, std::ios::app) << std::string(700, '\0'); });
    tail([](const auto& wal) { std::ofstream(wal, std::ios::app) << std::string(5'000, 'x'); });
    tail([](const auto&) {});
    open();
    EXPECT_FALSE(refusal(of_both()));
    ASSERT_TRUE(eventually([&] { return tcc_->stats().open == 0; }));
    EXPECT_EQ(outcomes_.size(), 12u);
    expect_consistent();
}

// A disk that lies about what it has synced loses decisions. What was not lost is as it was.
TEST_F(TxnLogStorage, ALogThatLostItsEndIsAnOldCopyAndNoLie) {
    open();
    run_some(2);
    close();
    std::filesystem::copy_file(log(), folder_.path() / "old.db");
    open();
    run_some(2);
    close();
    const auto lost = outcomes_;
    ASSERT_EQ(lost.size(), 4u);
    std::filesystem::remove(log().string() + "-wal");
    std::filesystem::remove(log().string() + "-shm");
    std::filesystem::remove(log().string() + "-mark");  // else it is not even opened
    std::filesystem::copy_file(
        folder_.path() / "old.db", log(), std::filesystem::copy_options::overwrite_existing
    );
    std::map<std::uint64_t, std::uint64_t> terms;
    for (const auto& call : stock_->calls())
        terms[call.gid.number] = call.term;
    // As a barrier answers: the number is known, of another term.
    stock_->answer_by([terms](const txn::call& call) -> result<txn::reply> {
        const auto known = terms.find(call.gid.number);
        if (known != terms.end() && known->second != call.term)
            return ahead_by_term(known->second);
        return txn::reply::done();
    });
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.unknown());
    EXPECT_EQ(outcome.why(), txn::errc::participant_ahead);
    EXPECT_EQ(refusal(of_both()), txn::errc::participant_ahead) << "until somebody has looked";
    for (const auto& [gid, confirmed] : lost)
        EXPECT_TRUE(agrees(gid, confirmed)) << gid.text();
}

TEST_F(TxnLogStorage, WhatWasDecidedByHandIsNotDecidedAgain) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    sql("UPDATE mortise_txn SET state = 3, why = 7, decided = begun");
    wallet_->hold_tries(false);
    ASSERT_EQ(running.wait_for(20s), std::future_status::ready);
    const auto outcome = running.get();
    EXPECT_TRUE(outcome.unknown());
    EXPECT_EQ(outcome.why(), txn::errc::not_open);
    EXPECT_TRUE(asked(outcome.gid()).cancelled());
    EXPECT_EQ(wallet_->operations(), "try") << "it is not for this coordinator to finish";
    EXPECT_EQ(tcc_->async_stop(asio::use_future).wait_for(20s), std::future_status::ready)
        << "nothing is undecided";
}

TEST_F(TxnLogStorage, TheDatabaseOfSomethingElseIsLeftAlone) {
    sql("CREATE TABLE customers(id INTEGER)");
    open();
    EXPECT_EQ(refusal(of_both()), txn::errc::not_a_log);
    sql("DROP TABLE customers");
    EXPECT_TRUE(eventually([&] { return !refusal(of_both()); })) << "when its cause is gone";
}

TEST_F(TxnLogStorage, ALogOfANewerVersionIsLeftAlone) {
    open();
    run_some(2);
    close();
    sql("UPDATE mortise_txn_log SET format = 4");
    open();
    EXPECT_EQ(refusal(of_both()), txn::errc::newer_log);
    EXPECT_EQ(refusal(of_both()), txn::errc::newer_log);
    sql("UPDATE mortise_txn_log SET format = 3");
    EXPECT_TRUE(eventually([&] { return !refusal(of_both()); }));
    expect_consistent();
}

TEST_F(TxnLogStorage, ARecordThatCannotBeReadIsLeftToPeople) {
    wallet_->answer_by(refusing(txn::operation::confirm, "no"));
    open();
    const auto broken = run(of_both()).gid();
    const auto whole = run(of_both()).gid();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 2; }));
    close();
    sql(("UPDATE mortise_txn SET plan = x'09ff' WHERE number = " + std::to_string(broken.number))
            .c_str());
    wallet_->answer_by({});
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; }));
    EXPECT_TRUE(settled(whole).confirmed());
    EXPECT_TRUE(asked(broken).confirmed());
    const auto stuck = tcc_->async_list(txn::list_filter::stuck, 0, 10, asio::use_future).get();
    ASSERT_EQ(stuck.size(), 1u);
    EXPECT_EQ(stuck[0].gid, broken);
    EXPECT_FALSE(stuck[0].readable);
}

TEST_F(TxnLogStorage, ALogThatMustBeThereIsNotMade) {
    auto how = config();
    how.must_exist = true;
    EXPECT_EQ(code_of([&] { open(how); }), txn::errc::log_missing);
    EXPECT_FALSE(std::filesystem::exists(log()));
    open();
    run_some(1);
    close();
    open(how);
    EXPECT_FALSE(refusal(of_both()));
}

}  // namespace
}  // namespace mortise::test::log_storage_test
