// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "txn/txn_command.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mortise::test::txn_command_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using kind = tool::txn_settings::kind;

/// The commands, in the process of the coordinator.
class TxnCommand : public coordinator_fixture {
protected:
    tool::txn_settings order(kind verb, const txn::gid& transaction = {}) const {
        tool::txn_settings settings;
        settings.verb = verb;
        settings.log = (folder_.path() / "log.db").native();
        settings.transaction = transaction.text();
        settings.why = "ticket 7";
        settings.wait = 20s;
        return settings;
    }

    std::string look(const tool::txn_settings& settings) const {
        std::ostringstream out;
        EXPECT_EQ(tool::look_at_transactions(global_, settings, out), 0);
        return out.str();
    }
    boost::json::value look_json(const tool::txn_settings& settings) {
        global_.json = true;
        const auto text = look(settings);
        global_.json = false;
        return boost::json::parse(text);
    }

    /// Carries an order out. @return what it says.
    std::string say(const tool::txn_settings& settings) const {
        std::ostringstream out;
        asio::io_context context(1);
        auto doing =
            asio::co_spawn(context, tool::intervene(global_, settings, out), asio::use_future);
        context.run();
        EXPECT_EQ(doing.get(), 0);
        return out.str();
    }
    template <class Doing>
    static int exit_of(Doing doing) {
        try {
            doing();
        } catch (const tool::failure& how) {
            return how.exit_code();
        }
        return 0;
    }

    txn::gid make_stuck() {
        wallet_->answer_by(refusing(txn::operation::confirm, "the account\nis closed"));
        const auto transaction = run(of_both()).gid();
        const auto stuck = order(kind::show, transaction);
        EXPECT_TRUE(eventually([&] {
            return look(stuck).find("confirmed, 1 stuck") != std::string::npos;
        }));
        return transaction;
    }

    tool::global_settings global_;
};

TEST_F(TxnCommand, ListsWhatHasNotEndedAndTheRestIfItIsTold) {
    open();
    auto plan = of_both();
    plan.key("order 9");
    const auto first = run(std::move(plan)).gid();
    static_cast<void>(settled(first));
    const auto second = make_stuck();
    auto settings = order(kind::ls);
    const auto some = look(settings);
    EXPECT_THAT(some, testing::StartsWith("TRANSACTION"));
    EXPECT_THAT(some, HasSubstr(second.text()));
    EXPECT_THAT(some, HasSubstr("confirmed, 1 stuck"));
    EXPECT_THAT(some, HasSubstr("1 of 2"));
    EXPECT_THAT(some, Not(HasSubstr(first.text())));
    settings.filter = txn::list_filter::stuck;
    EXPECT_THAT(look(settings), HasSubstr(second.text()));
    settings.filter = txn::list_filter::all;
    const auto all = look(settings);
    EXPECT_THAT(all, HasSubstr(first.text()));
    EXPECT_THAT(all, HasSubstr("confirmed, ended"));
    EXPECT_THAT(all, HasSubstr("order 9"));
    const auto report = look_json(settings);
    ASSERT_EQ(report.at("transactions").as_array().size(), 2u);
    EXPECT_EQ(report.at("transactions").at(0).at("gid").as_string(), first.text());
    EXPECT_EQ(
        report.at("transactions").at(1).at("branches").at(1).at("state").as_string(), "stuck"
    );
}

TEST_F(TxnCommand, ShowsOneTransactionAsATimeline) {
    open();
    const auto transaction = make_stuck();
    EXPECT_THAT(
        say(order(kind::retry, transaction)), HasSubstr("retry " + transaction.text() + ": done\n")
    );
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 2; }));
    auto skip = order(kind::skip, transaction);
    skip.branch = 2;
    EXPECT_EQ(say(skip), "skip " + transaction.text() + ", branch 2: done\n");
    static_cast<void>(settled(transaction));
    const auto text = look(order(kind::show, transaction));
    EXPECT_THAT(text, testing::StartsWith(transaction.text() + ": confirmed, 1 skipped, ended\n"));
    for (const char* part :
         {"  begun  ",
          "  decided to confirm  ",
          "  ended\n",
          "stock",
          "wallet",
          "  skipped  ",
          "  try  ",
          "  confirm  ",
          "  refused  ",
          "the account is closed",
          "  skip  ",
          "  retry  ",
          "@",
          "ticket 7"})
        EXPECT_THAT(text, HasSubstr(part));
    const auto report = look_json(order(kind::show, transaction));
    EXPECT_EQ(report.at("state").as_string(), "confirmed");
    EXPECT_TRUE(report.at("ended").as_bool());
    const auto& wallet = report.at("branches").at(1);
    EXPECT_EQ(wallet.at("calls").to_number<int>(), 3);
    const auto& call = wallet.at("newest").at(2);
    EXPECT_EQ(call.at("what").as_string(), "confirm");
    EXPECT_EQ(call.at("came").as_string(), "refused");
    EXPECT_EQ(call.at("text").as_string(), "the account\nis closed");
    EXPECT_GT(call.at("begun_us").to_number<int>(), 0);
    EXPECT_EQ(report.at("actions").as_array().size(), 2u);
    EXPECT_EQ(report.at("actions").at(1).at("why").as_string(), "ticket 7");
    EXPECT_TRUE(report.at("wishes").as_array().empty());
}

TEST_F(TxnCommand, KnowsATransactionByItsNumber) {
    open();
    const auto transaction = run(of_both()).gid();
    auto settings = order(kind::show);
    settings.transaction = std::to_string(transaction.number);
    EXPECT_THAT(look(settings), testing::StartsWith(transaction.text()));
    for (const char* unknown : {"99", "0000000000000001-1"}) {
        settings.transaction = unknown;
        EXPECT_EQ(exit_of([&] { look(settings); }), tool::exit_code::nothing_to_do) << unknown;
    }
    for (const char* wrong : {"", "0", "-1", "7x", "poem"}) {
        settings.transaction = wrong;
        EXPECT_EQ(exit_of([&] { look(settings); }), tool::exit_code::usage) << wrong;
    }
}

TEST_F(TxnCommand, AnEmptyDatabaseIsALogInWhichNothingHasBegun) {
    std::ofstream(folder_.path() / "log.db").flush();
    auto settings = order(kind::ls);
    settings.filter = txn::list_filter::all;
    EXPECT_THAT(look(settings), testing::StartsWith("TRANSACTION"));
    EXPECT_TRUE(look_json(settings).at("transactions").as_array().empty());
    settings = order(kind::show);
    settings.transaction = "1";
    EXPECT_EQ(exit_of([&] { look(settings); }), tool::exit_code::nothing_to_do);
    settings.verb = kind::retry;
    EXPECT_EQ(exit_of([&] { say(settings); }), tool::exit_code::nothing_to_do);
    settings.log += ".none";
    settings.verb = kind::ls;
    EXPECT_EQ(exit_of([&] { look(settings); }), tool::exit_code::unavailable) << "no file at all";
}

TEST_F(TxnCommand, SaysThatThereIsNothingToDo) {
    open();
    const auto ended = run(of_both()).gid();
    static_cast<void>(settled(ended));
    const auto exit_code = [&](const tool::txn_settings& settings) {
        return exit_of([&] { say(settings); });
    };
    EXPECT_EQ(exit_code(order(kind::force, ended)), tool::exit_code::nothing_to_do);
    const auto transaction = make_stuck();
    auto skip = order(kind::skip, transaction);
    skip.branch = 1;
    EXPECT_EQ(exit_code(skip), tool::exit_code::nothing_to_do) << "that one is finished";
    skip.branch = 3;
    EXPECT_EQ(exit_code(skip), tool::exit_code::usage);
}

TEST_F(TxnCommand, SaysThatNoCoordinatorAnswers) {
    open();
    const auto transaction = make_stuck();
    tcc_->async_stop(asio::use_future).get();
    auto retry = order(kind::retry, transaction);
    retry.wait = 1ms;
    EXPECT_EQ(exit_of([&] { say(retry); }), tool::exit_code::no_answer);
    EXPECT_THAT(look(order(kind::show, transaction)), HasSubstr("WAITS SINCE"));
}

}  // namespace
}  // namespace mortise::test::txn_command_test
