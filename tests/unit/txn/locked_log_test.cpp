// SPDX-License-Identifier: BSL-1.0
// Logs that somebody else has locked, and what a coordinator does beside its event loop.
#include "mortise/txn/log_reader.hpp"
#include "unit/txn/foreign_writer.hpp"
#include "unit/txn/log_disk_fixture.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <future>

namespace mortise::test::locked_log_test {
namespace {

using namespace std::chrono_literals;
using txn::list_filter;
using txn::standing;

class TxnLockedLog : public log_disk_fixture {
protected:
    error_code code_for(const txn::gid& gid) {
        return code_of([&] { static_cast<void>(asked(gid)); });
    }
    std::vector<txn::transaction_view> listed() {
        return tcc_->async_list(list_filter::all, 0, 10, asio::use_future).get();
    }
};

TEST_F(TxnLockedLog, AnEmptyLogIsEmptyToWhoeverAsks) {
    const txn::gid any{7, 1};
    foreign_writer writer(log());
    open();
    EXPECT_EQ(code_for(any), txn::errc::bad_gid) << "there was no such transaction";
    EXPECT_FALSE(tcc_->async_show(any, asio::use_future).get());
    EXPECT_TRUE(listed().empty());
    const txn::log_reader reader(log());
    EXPECT_EQ(reader.id(), 0u);
    EXPECT_FALSE(reader.show(any));
    EXPECT_TRUE(reader.list(list_filter::all, 0, 10).empty());
    EXPECT_EQ(reader.standing_of(any), standing::never_existed);
    writer.run("ROLLBACK");
    const auto outcome = run(of_both());
    EXPECT_TRUE(outcome.confirmed());
    EXPECT_EQ(listed().size(), 1u);
    EXPECT_TRUE(reader.show(outcome.gid())) << "it sees what came into it since";
    EXPECT_EQ(reader.list(list_filter::all, 0, 10).size(), 1u);
    EXPECT_EQ(reader.standing_of(outcome.gid()), standing::confirmed);
}

TEST_F(TxnLockedLog, AFileWithoutABytesIsAnEmptyLogAndAnothersDatabaseIsNone) {
    std::ofstream(log()).flush();
    EXPECT_TRUE(txn::log_reader(log()).list(list_filter::all, 0, 10).empty());
    foreign_writer writer(log());
    writer.run("CREATE TABLE customers(id INTEGER)");
    writer.run("COMMIT");
    EXPECT_EQ(code_of([&] { txn::log_reader reader(log()); }), txn::errc::not_a_log);
    open();
    EXPECT_EQ(code_for({7, 1}), txn::errc::not_a_log);
    EXPECT_EQ(code_of([&] { listed(); }), txn::errc::not_a_log);
}

TEST_F(TxnLockedLog, AStopDoesNotWaitForWhoeverHasItLocked) {
    auto how = config();
    how.stop_max = 50ms;
    open(how);
    EXPECT_TRUE(settled(run(of_both()).gid()).confirmed());
    wallet_->hold_tries(true);
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->operations() == "try confirm try"; }));
    const auto gid = wallet_->calls().back().gid;
    foreign_writer writer(log());
    std::vector<std::future<txn::outcome>> begins;
    for (int i = 0; i < 20; ++i)
        begins.push_back(tcc_->async_run(of_both(), asio::use_future));
    auto stopped = tcc_->async_stop(asio::use_future);
    ASSERT_EQ(stopped.wait_for(20s), std::future_status::ready) << "it is locked all the time";
    const auto outcome = running.get();
    EXPECT_TRUE(outcome.unknown());
    EXPECT_EQ(outcome.why(), txn::errc::stopped);
    for (auto& each : begins) {
        const auto code = code_of([&] { static_cast<void>(each.get()); });
        EXPECT_TRUE(code == txn::errc::stopped || code == mortise::errc::database_busy)
            << "it had not begun: " << code.message();
    }
    writer.run("ROLLBACK");
    wallet_->hold_tries(false);
    open();
    EXPECT_TRUE(settled(gid).cancelled()) << "by whoever comes next";
    EXPECT_EQ(listed().size(), 2u);
}

TEST_F(TxnLockedLog, WhoWaitsForAnEndMayGiveUpBeforeItIsOpen) {
    foreign_writer writer(log());
    open();
    asio::cancellation_signal stop;
    auto waiting = tcc_->async_settle(
        {7, 1}, asio::bind_cancellation_slot(stop.slot(), asio::as_tuple(asio::use_future))
    );
    asio::post(context_, [&] { stop.emit(asio::cancellation_type::partial); });
    ASSERT_EQ(waiting.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(std::get<0>(waiting.get()), asio::error::operation_aborted);
    writer.run("ROLLBACK");
    EXPECT_TRUE(run(of_both()).confirmed());
}

TEST_F(TxnLockedLog, AStopThatIsNotHinderedDecidesFirst) {
    auto how = config();
    how.stop_max = 1h;
    open(how);
    wallet_->hold_tries(true);
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->operations() == "try"; }));
    tcc_->async_stop(asio::use_future).get();
    EXPECT_TRUE(running.get().cancelled());
    wallet_->hold_tries(false);
}

TEST_F(TxnLockedLog, ABrokenOneIsOpenedAnewBesideTheEventLoop) {
    auto how = config();
    how.vfs = disk_.name();
    open(how);
    EXPECT_TRUE(run(of_both()).confirmed());
    disk_.hold_opens();
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    EXPECT_EQ(refusal(of_both()), mortise::errc::commit_unknown);
    disk_.log_sync_result = 0;
    disk_.wait_for_held_open();
    std::promise<void> alive;
    asio::post(context_, [&] { alive.set_value(); });
    const bool lives = alive.get_future().wait_for(20s) == std::future_status::ready;
    if (!lives)
        disk_.release_opens();
    ASSERT_TRUE(lives) << "as it opens";
    EXPECT_TRUE(refusal(of_both())) << "and says that it cannot decide";
    disk_.release_opens();
    EXPECT_TRUE(eventually([&] { return !refusal(of_both()); }));
}

// Whoever is destroyed meanwhile leaves nothing behind.
TEST_F(TxnLockedLog, OneThatIsDestroyedWhileItIsOpenedLeavesNoFileOpen) {
    auto how = config();
    how.vfs = disk_.name();
    open(how);
    EXPECT_TRUE(run(of_both()).confirmed());
    disk_.hold_opens();
    disk_.log_sync_result = SQLITE_IOERR_FSYNC;
    EXPECT_TRUE(refusal(of_both()));
    disk_.log_sync_result = 0;
    disk_.wait_for_held_open();
    tcc_.reset();
    disk_.release_opens();
    EXPECT_TRUE(eventually([&] { return nobody_has_the_log(); }));
}

}  // namespace
}  // namespace mortise::test::locked_log_test
