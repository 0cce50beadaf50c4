// SPDX-License-Identifier: BSL-1.0
// `mortise txn` as a process, beside the coordinator's.
#include "chaos/cli_process.hpp"
#include "support/built_program.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace mortise::test::cli_txn_test {
namespace {

using namespace std::chrono_literals;

class CliTxn : public coordinator_fixture {
protected:
    cli_process start(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {built_program("tools/mortise"), "txn"});
        return {folder_.path(), arguments, {{"MORTISE_TXN_LOG", log().native()}}};
    }
    std::filesystem::path log() const { return folder_.path() / "log.db"; }

    bool shows(const txn::gid& gid, const std::string& part) const {
        auto show = start({"show", gid.text()});
        EXPECT_EQ(show.wait(), 0) << show.err();
        return show.out().find(part) != std::string::npos;
    }

    txn::gid make_stuck() {
        wallet_->answer_by(refusing(txn::operation::confirm, "the account is closed"));
        const auto gid = run(of_both()).gid();
        EXPECT_TRUE(eventually([&] { return shows(gid, "confirmed, 1 stuck"); }));
        return gid;
    }
};

TEST_F(CliTxn, RetriesWhatIsStuckAtACoordinatorInAnotherProcess) {
    open();
    const auto gid = make_stuck();
    wallet_->answer_by({});
    auto retry = start({"retry", gid.text(), "--why", "it is open again"});
    EXPECT_EQ(retry.wait(), 0) << retry.err();
    EXPECT_EQ(retry.out(), "retry " + gid.text() + ": done\n");
    EXPECT_TRUE(settled(gid).confirmed());
    EXPECT_TRUE(eventually([&] { return shows(gid, "confirmed, ended"); }));
    EXPECT_TRUE(shows(gid, "it is open again"));
    auto again = start({"retry", gid.text(), "--why", "once more"});
    EXPECT_EQ(again.wait(), 66) << again.out();
    EXPECT_FALSE(shows(gid, "once more"));
}

TEST_F(CliTxn, LeavesAnOrderForTheNextCoordinator) {
    open();
    const auto gid = make_stuck();
    tcc_->async_stop(asio::use_future).get();
    auto skip = start({"skip", gid.text(), "--branch", "2", "--why", "paid", "--wait", "10ms"});
    EXPECT_EQ(skip.wait(), 75) << skip.out();
    EXPECT_NE(skip.err().find("stays in the log"), std::string::npos) << skip.err();
    EXPECT_TRUE(shows(gid, "WAITS SINCE"));
    open();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().ended == 1; }));
    EXPECT_TRUE(shows(gid, "confirmed, 1 skipped, ended"));
}

TEST_F(CliTxn, AdoptsAnOldCopyOfALog) {
    open();
    EXPECT_TRUE(run(of_both()).confirmed());
    tcc_->async_stop(asio::use_future).get();
    std::filesystem::copy_file(log(), folder_.path() / "old.db");
    open();
    const auto lost = run(of_both()).gid();
    static_cast<void>(settled(lost));
    tcc_->async_stop(asio::use_future).get();
    std::filesystem::rename(folder_.path() / "old.db", log());
    open();
    EXPECT_EQ(refusal(of_both()), txn::errc::old_log);
    tcc_->async_stop(asio::use_future).get();
    auto adopt = start({"adopt"});
    EXPECT_EQ(adopt.wait(), 0) << adopt.err();
    EXPECT_NE(adopt.out().find("adopted"), std::string::npos) << adopt.out();
    auto again = start({"adopt", "--json"});
    EXPECT_EQ(again.wait(), 0) << "it does no harm: " << again.err();
    EXPECT_NE(again.out().find("\"came\":\"adopted\""), std::string::npos) << again.out();
    open();
    const auto next = run(of_both());
    EXPECT_TRUE(next.confirmed());
    EXPECT_GT(next.gid().number, lost.number + 1'000) << "no number is used again";
}

TEST_F(CliTxn, AdoptsNothingThatIsNoLog) {
    auto none = start({"adopt"});
    EXPECT_EQ(none.wait(), 69) << none.out();
    EXPECT_FALSE(std::filesystem::exists(log())) << "none is made";
    std::ofstream(log()).flush();
    auto empty = start({"adopt"});
    EXPECT_EQ(empty.wait(), 69) << empty.out();
    EXPECT_EQ(std::filesystem::file_size(log()), 0u);
    std::ofstream(log()) << "a poem";
    auto poem = start({"adopt"});
    EXPECT_EQ(poem.wait(), 69) << poem.out();
    EXPECT_EQ(std::filesystem::file_size(log()), 6u);
}

TEST_F(CliTxn, RefusesAFileThatIsNoLog) {
    auto ls = start({"ls"});
    EXPECT_EQ(ls.wait(), 69) << ls.out();
    EXPECT_FALSE(std::filesystem::exists(log())) << "none is made";
    auto unnamed = cli_process(folder_.path(), {built_program("tools/mortise"), "txn", "ls"}, {});
    EXPECT_EQ(unnamed.wait(), 64);
}

}  // namespace
}  // namespace mortise::test::cli_txn_test
