// SPDX-License-Identifier: BSL-1.0
// Logs that are old copies, and participants that say so, rightly or not.
#include "mortise/txn/old_log.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <filesystem>
#include <string>

namespace mortise::test::old_log_test {
namespace {

using namespace std::chrono_literals;
using txn::operation;
using txn::reply;

constexpr auto overwrite = std::filesystem::copy_options::overwrite_existing;

class TxnOldLog : public coordinator_fixture {
protected:
    std::filesystem::path log() const { return folder_.path() / "log.db"; }
    std::filesystem::path mark() const { return log().string() + "-mark"; }

    void close() {
        tcc_->async_stop(asio::use_future).get();
        tcc_.reset();
    }
    /// As it stands, also while a coordinator works on it.
    void keep_copy() const {
        for (const char* end : {"", "-wal"}) {
            const auto from = log().string() + end;
            if (std::filesystem::exists(from))
                std::filesystem::copy_file(from, log().string() + ".old" + end, overwrite);
        }
    }
    void restore_copy() const {
        for (const char* end : {"", "-wal", "-shm"})
            std::filesystem::remove(log().string() + end);
        for (const char* end : {"", "-wal"}) {
            const auto from = log().string() + ".old" + end;
            if (std::filesystem::exists(from))
                std::filesystem::rename(from, log().string() + end);
        }
    }

    static txn::transaction of(const char* participant) {
        txn::transaction transaction;
        transaction.add(participant, "");
        return transaction;
    }
    static reply ahead_by_term(std::uint64_t term) {
        reply::evidence seen;
        seen.term = term;
        return reply::ahead(seen);
    }
    static std::size_t calls_of(const scripted_participant& participant, operation operation) {
        std::size_t found = 0;
        for (const auto& each : participant.calls())
            found += each.type == operation;
        return found;
    }
    /// Copies the log while a transaction is open in it that is confirmed and ends then.
    txn::gid confirm_behind_the_copy() {
        open();
        EXPECT_TRUE(run(of_both()).confirmed());
        wallet_->hold_tries(true);
        auto running = tcc_->async_run(of_both(), asio::use_future);
        EXPECT_TRUE(eventually([&] { return calls_of(*wallet_, operation::try_) == 2; }));
        keep_copy();
        wallet_->hold_tries(false);
        const auto outcome = running.get();
        EXPECT_TRUE(outcome.confirmed());
        EXPECT_TRUE(settled(outcome.gid()).confirmed());
        close();
        return outcome.gid();
    }
};

TEST_F(TxnOldLog, OneThatIsBehindItsMarkIsRefusedUntilSomebodyAdoptsIt) {
    const auto confirmed = confirm_behind_the_copy();
    restore_copy();
    open();
    EXPECT_EQ(refusal(of_both()), txn::errc::old_log);
    EXPECT_EQ(refusal(of_both()), txn::errc::old_log) << "again and again";
    EXPECT_EQ(calls_of(*wallet_, operation::cancel), 0u);
    tcc_.reset();
    txn::adopt_old_log(log());
    open();
    const auto outcome = run(of("stock"));
    EXPECT_TRUE(outcome.confirmed());
    EXPECT_GT(outcome.gid().number, confirmed.number + 1'000) << "no number is used again";
}

TEST_F(TxnOldLog, ALogThatIsNotOldKeepsItsMark) {
    for (int i = 0; i < 3; ++i) {
        open();
        EXPECT_TRUE(run(of_both()).confirmed());
        if (i == 1)
            tcc_.reset();
        else
            close();
    }
    // As after a power failure, and for a log that had none yet.
    std::filesystem::resize_file(mark(), 3);
    open();
    EXPECT_TRUE(run(of_both()).confirmed());
    close();
    std::filesystem::remove(mark());
    open();
    EXPECT_TRUE(run(of_both()).confirmed());
}

TEST_F(TxnOldLog, ANewLogInTheSamePlaceIsAnotherOne) {
    open();
    EXPECT_TRUE(run(of_both()).confirmed());
    close();
    std::filesystem::remove(log());
    open();
    EXPECT_TRUE(run(of_both()).confirmed());
}

// The mark was copied with it: only participants can tell.
TEST_F(TxnOldLog, WhatAParticipantHasConfirmedIsNotCancelledByIt) {
    const auto confirmed = confirm_behind_the_copy();
    restore_copy();
    std::filesystem::remove(mark());
    wallet_->answer_by([&](const txn::call& call) -> result<reply> {
        if (call.gid == confirmed && call.type == operation::cancel)
            return error_code(txn::errc::conflict);
        return reply::done();
    });
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    EXPECT_EQ(tcc_->stats().suspicious, 1u);
    EXPECT_TRUE(asked(confirmed).unknown()) << "what was told is not contradicted";
    EXPECT_EQ(refusal(of_both()), txn::errc::participant_ahead);
    close();
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    EXPECT_TRUE(asked(confirmed).unknown()) << "nor by the next";
}

TEST_F(TxnOldLog, WhatAParticipantHasForgottenAsEndedIsNotCancelledByIt) {
    const auto confirmed = confirm_behind_the_copy();
    restore_copy();
    std::filesystem::remove(mark());
    wallet_->answer_by([&](const txn::call& call) -> result<reply> {
        if (call.gid != confirmed || call.type != operation::cancel)
            return reply::done();
        EXPECT_TRUE(call.presumed);
        reply::evidence seen;
        seen.ended_below = confirmed.number + 5;
        return reply::ahead(seen);
    });
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    EXPECT_TRUE(asked(confirmed).unknown());
}

TEST_F(TxnOldLog, ANumberThatIsUsedAgainIsNotTakenForARefusal) {
    for (const auto& seen :
         {result<reply>(error_code(txn::errc::late_try)),
          result<reply>(error_code(txn::errc::conflict)),
          result<reply>(ahead_by_term(7))}) {
        wallet_->answer_by([seen](const txn::call& call) -> result<reply> {
            return call.type == operation::try_ ? seen : reply::done();
        });
        open();
        const auto outcome = run(of_both());
        EXPECT_TRUE(outcome.unknown());
        EXPECT_EQ(outcome.why(), txn::errc::participant_ahead);
        EXPECT_TRUE(asked(outcome.gid()).unknown());
        tcc_.reset();
    }
}

TEST_F(TxnOldLog, OneParticipantsWordStopsOnlyWhatItTakesPartIn) {
    wallet_->answer_by([](const txn::call&) -> result<reply> { return ahead_by_term(7); });
    open();
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.unknown());
    EXPECT_EQ(outcome.why(), txn::errc::participant_ahead);
    EXPECT_TRUE(eventually([&] { return calls_of(*stock_, operation::cancel) == 1; }))
        << "what others have reserved is given back";
    EXPECT_EQ(refusal(of_both()), txn::errc::participant_ahead) << "at once";
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(run(of("stock")).confirmed());
    EXPECT_EQ(tcc_->stats().partitions, 8u);
    EXPECT_EQ(tcc_->stats().suspicious, 1u);
    const auto view = tcc_->async_show(outcome.gid(), asio::use_future).get();
    ASSERT_TRUE(view);
    EXPECT_NE(view->branches[1].newest.back().text.find("another term"), std::string::npos)
        << view->branches[1].newest.back().text;
    // It was wrong, and is mended.
    wallet_->answer_by({});
    txn::intervention retry;
    retry.gid = outcome.gid();
    retry.who = "test";
    retry.why = "the wallet was wrong";
    tcc_->async_intervene(retry, asio::use_future).get();
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(tcc_->stats().suspicious, 0u);
    EXPECT_TRUE(run(of_both()).confirmed());
}

TEST_F(TxnOldLog, AWordWithoutEvidenceStopsNothing) {
    for (const auto& answer :
         {result<reply>(reply::ahead({})),
          result<reply>(error_code(txn::errc::participant_ahead)),
          result<reply>(error_code(txn::errc::stale_epoch))}) {
        wallet_->answer_by([answer](const txn::call& call) -> result<reply> {
            return call.type == operation::try_ ? answer : reply::done();
        });
        open();
        EXPECT_TRUE(run(of_both()).cancelled());
        EXPECT_TRUE(run(of("stock")).confirmed());
        EXPECT_EQ(tcc_->stats().suspicious, 0u);
        tcc_.reset();
    }
}

TEST_F(TxnOldLog, WhoJoinsWhatNobodyCanDecideYetIsToldSo) {
    auto keyed = of_both();
    keyed.key("order 5");
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(keyed, asio::use_future);
    ASSERT_TRUE(eventually([&] { return calls_of(*wallet_, operation::try_) == 1; }));
    tcc_.reset();
    const auto gid = running.get().gid();
    wallet_->hold_tries(false);
    wallet_->answer_by([](const txn::call&) -> result<reply> { return reply::again(1h); });
    open();
    ASSERT_TRUE(eventually([&] { return calls_of(*wallet_, operation::cancel) == 1; }));
    const auto joined = run(keyed);
    EXPECT_TRUE(joined.unknown());
    EXPECT_EQ(joined.gid(), gid);
    wallet_->answer_by({});
    EXPECT_TRUE(settled(gid).cancelled());
    EXPECT_TRUE(run(keyed).cancelled());
}

TEST_F(TxnOldLog, WhatIsPresumedCancelledCanBeForced) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return calls_of(*wallet_, operation::try_) == 1; }));
    const auto gid = wallet_->calls().front().gid;
    tcc_.reset();
    wallet_->hold_tries(false);
    wallet_->answer_by([](const txn::call&) -> result<reply> { return txn::errc::call_failed; });
    open();
    ASSERT_TRUE(eventually([&] { return calls_of(*wallet_, operation::cancel) >= 2; }));
    EXPECT_TRUE(asked(gid).unknown()) << "the wallet may have confirmed it";
    txn::intervention force;
    force.type = txn::intervention::kind::force;
    force.gid = gid;
    force.who = "test";
    force.why = "it will not come back";
    tcc_->async_intervene(force, asio::use_future).get();
    EXPECT_TRUE(eventually([&] { return asked(gid).cancelled(); }));
    EXPECT_EQ(asked(gid).why(), txn::errc::forced);
    wallet_->answer_by({});
    EXPECT_TRUE(settled(gid).cancelled());
}

}  // namespace
}  // namespace mortise::test::old_log_test
