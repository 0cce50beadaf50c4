// SPDX-License-Identifier: BSL-1.0
// What operators do from outside of the coordinator's process, and what they see there.
#include "mortise/db/bell.hpp"
#include "mortise/txn/log_reader.hpp"
#include "mortise/txn/operator_order.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/asio/co_spawn.hpp>

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace mortise::test::operator_order_test {
namespace {

using namespace std::chrono_literals;
using txn::intervention;
using txn::list_filter;

class TxnOperatorOrder : public coordinator_fixture {
protected:
    std::filesystem::path log() const { return folder_.path() / "log.db"; }

    std::optional<txn::transaction_view> read(const txn::gid& gid) const {
        return txn::log_reader(log()).show(gid);
    }

    /// Leaves an order, in a context of its own. Nothing: nobody did it in that time.
    std::optional<error_code> leave(
        intervention::kind how,
        const txn::gid& gid,
        txn::branch_number of = 0,
        std::chrono::milliseconds wait = 20s
    ) const {
        intervention order;
        order.type = how;
        order.gid = gid;
        order.branch = of;
        order.who = "alice@here";
        order.why = "ticket 7";
        asio::io_context context(1);
        auto leaving = asio::co_spawn(
            context, txn::leave_operator_order(log(), order, wait), asio::use_future
        );
        context.run();
        return leaving.get();
    }

    /// A transaction that is confirmed, but for the wallet.
    txn::gid make_stuck() {
        wallet_->answer_by(refusing(txn::operation::confirm, "the account is closed"));
        const auto outcome = run(of_both());
        EXPECT_TRUE(outcome.confirmed());
        EXPECT_TRUE(eventually([&] { return is_stuck(outcome.gid()); }));
        return outcome.gid();
    }

    void damage_plans() const {
        sqlite3* file = nullptr;
        ASSERT_EQ(::sqlite3_open(log().c_str(), &file), SQLITE_OK);
        ::sqlite3_busy_timeout(file, 5'000);
        constexpr const char* damage = "UPDATE mortise_txn SET plan = x'09ff'";
        EXPECT_EQ(::sqlite3_exec(file, damage, nullptr, nullptr, nullptr), SQLITE_OK);
        ::sqlite3_close(file);
    }

    /// Copies the log as it stands, also while a coordinator works on it.
    void keep_copy() const {
        for (const char* end : {"", "-wal"}) {
            const auto from = log().string() + end;
            if (std::filesystem::exists(from))
                std::filesystem::copy_file(from, log().string() + ".old" + end);
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

    bool is_stuck(const txn::gid& gid) const {
        const auto found = read(gid);
        return found && found->branches.at(0).finished && found->branches.at(1).stuck;
    }
};

TEST_F(TxnOperatorOrder, IsDoneByTheCoordinatorAtWork) {
    open();
    const auto gid = make_stuck();
    wallet_->answer_by({});
    EXPECT_EQ(leave(intervention::kind::retry, gid), error_code());
    EXPECT_TRUE(settled(gid).confirmed());
    EXPECT_EQ(wallet_->operations(), "try confirm confirm");
    const auto found = read(gid);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->actions.size(), 1u);
    EXPECT_EQ(found->actions[0].type, "retry");
    EXPECT_EQ(found->actions[0].who, "alice@here");
    EXPECT_EQ(found->actions[0].why, "ticket 7");
    EXPECT_TRUE(found->operator_orders.empty());
}

TEST_F(TxnOperatorOrder, IsInTheLogTogetherWithWhatItDid) {
    open();
    const auto gid = make_stuck();
    EXPECT_EQ(leave(intervention::kind::skip, gid, 2), error_code());
    const auto found = read(gid);  // without waiting for the coordinator
    ASSERT_TRUE(found);
    EXPECT_EQ(found->actions.size(), 1u);
    EXPECT_TRUE(found->branches.at(1).skipped);
    EXPECT_TRUE(found->branches.at(1).finished);
    EXPECT_FALSE(found->branches.at(1).stuck);
    EXPECT_TRUE(settled(gid).confirmed());
    EXPECT_EQ(wallet_->operations(), "try confirm");
}

TEST_F(TxnOperatorOrder, IsRefusedWhereThereIsNothingToDo) {
    open();
    const auto done = run(of_both()).gid();
    static_cast<void>(settled(done));
    EXPECT_EQ(leave(intervention::kind::retry, done), error_code(txn::errc::not_open));
    wallet_->hold_tries(true);
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 3; }));
    const auto gid = wallet_->calls().back().gid;
    EXPECT_EQ(leave(intervention::kind::skip, gid, 2), error_code(txn::errc::not_stuck));
    EXPECT_EQ(leave(intervention::kind::force, gid), error_code());
    EXPECT_EQ(running.get().why(), txn::errc::forced);
    wallet_->hold_tries(false);
    EXPECT_TRUE(settled(gid).cancelled());
    EXPECT_EQ(read(gid)->actions.size(), 1u) << "what was refused is not remembered";
    EXPECT_EQ(code_of([&] { leave(intervention::kind::skip, {gid.log, 99}); }), txn::errc::bad_gid);
    EXPECT_EQ(
        code_of([&] {
            leave(intervention::kind::skip, {gid.log + 1, 1});
        }),
        txn::errc::bad_gid
    );
}

TEST_F(TxnOperatorOrder, StaysForTheNextCoordinator) {
    open();
    const auto gid = make_stuck();
    tcc_.reset();
    ASSERT_TRUE(eventually([&] { return db::bell::ring(log()) == 0; })) << "nobody is at work";
    EXPECT_EQ(leave(intervention::kind::skip, gid, 2, 1ms), std::nullopt);
    const auto waiting = read(gid);
    ASSERT_TRUE(waiting);
    ASSERT_EQ(waiting->operator_orders.size(), 1u);
    EXPECT_EQ(waiting->operator_orders[0].type, "skip");
    EXPECT_EQ(waiting->operator_orders[0].branch, 2u);
    EXPECT_EQ(waiting->operator_orders[0].who, "alice@here");
    EXPECT_EQ(waiting->operator_orders[0].why, "ticket 7");
    EXPECT_GE(waiting->operator_orders[0].at_ms, waiting->begun_ms);
    EXPECT_TRUE(waiting->actions.empty());
    open();  // asks the wallet once more, which refuses
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; }));
    const auto found = read(gid);
    EXPECT_TRUE(found->branches.at(1).skipped);
    EXPECT_EQ(found->actions.size(), 1u);
    EXPECT_TRUE(found->operator_orders.empty());
    EXPECT_EQ(wallet_->operations(), "try confirm confirm");
}

TEST_F(TxnOperatorOrder, IsNotNeededAnyMoreIfTheNextCoordinatorSucceeds) {
    open();
    const auto gid = make_stuck();
    tcc_.reset();
    ASSERT_TRUE(eventually([&] { return db::bell::ring(log()) == 0; }));
    EXPECT_EQ(leave(intervention::kind::skip, gid, 2, 1ms), std::nullopt);
    wallet_->answer_by({});
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; }));
    EXPECT_TRUE(eventually([&] { return read(gid)->operator_orders.empty(); }));
    EXPECT_FALSE(read(gid)->branches.at(1).skipped);
    EXPECT_TRUE(read(gid)->actions.empty());
}

TEST_F(TxnOperatorOrder, IsDoneOnceHoweverOftenTheBellRings) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    const auto gid = wallet_->calls().at(0).gid;
    std::thread ringing([&] {
        for (int i = 0; i < 200; ++i)
            db::bell::ring(log());
    });
    EXPECT_EQ(leave(intervention::kind::force, gid), error_code());
    ringing.join();
    EXPECT_TRUE(running.get().cancelled());
    wallet_->hold_tries(false);
    EXPECT_TRUE(settled(gid).cancelled());
    EXPECT_EQ(read(gid)->actions.size(), 1u);
}

TEST_F(TxnOperatorOrder, ReachesATransactionThatTheRecoveryHasNoRoomFor) {
    auto how = config();
    how.partitions = 1;
    how.breaker_failures = 1'000'000;
    const auto deaf = [](const txn::call& call) -> result<txn::reply> {
        if (call.type == txn::operation::confirm)
            return error_code(txn::errc::call_failed);
        return txn::reply::done();
    };
    wallet_->answer_by(deaf);
    open(how);
    const auto first = run(of_both()).gid();
    wallet_->answer_by([first, deaf](const txn::call& call) -> result<txn::reply> {
        if (call.gid == first)
            return deaf(call);
        return call.type == txn::operation::confirm ? txn::reply::refused("closed")
                                                    : txn::reply::done();
    });
    const auto second = run(of_both()).gid();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    tcc_.reset();
    how.open_max = 2;  // half of which may be such as were taken up
    open(how);
    ASSERT_TRUE(eventually([&] { return tcc_->stats().taken_up == 1; }));
    wallet_->answer_by([first, deaf](const txn::call& call) {
        return call.gid == first ? deaf(call) : result<txn::reply>(txn::reply::done());
    });
    EXPECT_EQ(leave(intervention::kind::retry, second), error_code());
    EXPECT_TRUE(settled(second).confirmed());
    EXPECT_FALSE(read(first)->ended) << "nobody asked for that one";
    EXPECT_TRUE(read(second)->ended);
}

TEST_F(TxnOperatorOrder, EndsATransactionWhoseRecordsCannotBeRead) {
    open();
    const auto gid = make_stuck();
    tcc_.reset();
    damage_plans();
    open();
    EXPECT_EQ(leave(intervention::kind::retry, gid), error_code(txn::errc::log_corrupt));
    EXPECT_EQ(leave(intervention::kind::skip, gid), error_code());
    const auto found = read(gid);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ended);
    EXPECT_FALSE(found->readable);
    EXPECT_EQ(found->at, txn::standing::confirmed) << "an outcome does not change";
    ASSERT_EQ(found->actions.size(), 1u);
    EXPECT_EQ(found->actions[0].why, "ticket 7");
}

// The copy was made before the order: by it nobody has cancelled the transaction.
TEST_F(TxnOperatorOrder, ThatDecidesIsNotLostInAnOldCopy) {
    wallet_->hold_tries(true);
    open();
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    const auto gid = wallet_->calls().at(0).gid;
    tcc_.reset();
    EXPECT_TRUE(running.get().unknown());
    ASSERT_TRUE(eventually([&] { return db::bell::ring(log()) == 0; }));
    damage_plans();
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().partitions == 8; }));
    keep_copy();
    EXPECT_EQ(leave(intervention::kind::force, gid), error_code());
    EXPECT_TRUE(asked(gid).cancelled());
    tcc_->async_stop(asio::use_future).get();
    tcc_.reset();
    wallet_->hold_tries(false);
    restore_copy();
    open();
    EXPECT_EQ(refusal(of_both()), txn::errc::old_log);
}

TEST_F(TxnOperatorOrder, IsNotLeftWhereThereIsNoLog) {
    const txn::gid some{1, 1};
    EXPECT_TRUE(code_of([&] { leave(intervention::kind::retry, some); }));
    EXPECT_FALSE(std::filesystem::exists(log())) << "none is made";
}

using TxnLogReader = TxnOperatorOrder;

TEST_F(TxnLogReader, SeesWhatTheCoordinatorHasWritten) {
    open();
    const auto first = run(of_both()).gid();
    static_cast<void>(settled(first));
    const auto second = make_stuck();
    const txn::log_reader seen(log());
    EXPECT_EQ(seen.id(), first.log);
    EXPECT_TRUE(seen.show(first)->ended);
    EXPECT_FALSE(seen.show({first.log, 99}));
    EXPECT_FALSE(seen.show({first.log + 1, first.number}));
    EXPECT_EQ(seen.standing_of({first.log, 99}), txn::standing::never_existed);
    EXPECT_EQ(seen.standing_of(first), txn::standing::confirmed);
    EXPECT_EQ(seen.list(list_filter::all, 0, 10).size(), 2u);
    EXPECT_EQ(seen.list(list_filter::all, 0, 1).size(), 1u);
    EXPECT_EQ(seen.list(list_filter::all, first.number, 10).at(0).gid, second);
    EXPECT_EQ(seen.list(list_filter::stuck, 0, 10).at(0).gid, second);
    tcc_.reset();
    EXPECT_EQ(seen.list(list_filter::unfinished, 0, 10).at(0).gid, second);
}

TEST_F(TxnLogReader, RefusesWhatIsNoLog) {
    EXPECT_TRUE(code_of([&] { const txn::log_reader none(log()); }));
    EXPECT_FALSE(std::filesystem::exists(log()));
    std::ofstream(log()) << std::string(5'000, 'r') << "oses are red";
    EXPECT_TRUE(code_of([&] { const txn::log_reader poem(log()); }));
}

}  // namespace
}  // namespace mortise::test::operator_order_test
