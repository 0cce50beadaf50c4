// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/outbox/inbox.hpp"
#include "outbox/inbox_command.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <atomic>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::inbox_command_test {
namespace {

using outbox::answer;
using outbox::received;
using testing::HasSubstr;
using testing::Not;
using kind = tool::inbox_settings::kind;

/// The commands, in the process of an inbox.
class InboxCommand : public testing::Test {
protected:
    InboxCommand() {
        db::sqlite_config config;
        config.path = database();
        session_ = std::make_shared<db::sqlite>(site_.executor(), std::move(config));
    }
    ~InboxCommand() override {
        inbox_.reset();
        session_.reset();
    }
    std::string database() const { return (folder_.path() / "shop.db").native(); }

    void start() {
        outbox::inbox_config how;
        how.name = "orders";
        how.handler = [this](db::connection&, const received& received) {
            if (received.message.payload == "nonsense" && !understood_)
                return answer::parked("nobody\nunderstands it");
            if (received.message.payload == "not yet" && !understood_)
                throw std::runtime_error("not yet");
            ++handled_;
            return answer::done();
        };
        how.retry_first = std::chrono::hours(1);
        how.retry_max = std::chrono::hours(1);
        inbox_.emplace(site_.executor(), session_, std::move(how));
    }
    template <class T>
    static T wait_for(std::future<T> future) {
        EXPECT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return future.get();
    }
    void deliver(std::vector<std::pair<std::string, std::string>> messages) {
        std::vector<received> all;
        for (auto& [key, payload] : messages) {
            outbox::message event("events", key, payload);
            event.id = "m" + std::to_string(next_);
            all.emplace_back("events-0", next_++, std::move(event));
        }
        wait_for(inbox_->async_receive(std::move(all), asio::use_future));
    }
    /// One of `k` that is parked, with two behind it; one that is tried again; one that is fine.
    void hold_some() {
        start();
        deliver({{"k", "nonsense"}, {"k", "2"}, {"k", "3"}, {"r", "not yet"}, {"f", "5"}});
    }

    /// Moves the arrival of the parked message a minute and a half back.
    void make_first_older() {
        wait_for(session_->async_run(
            [](db::connection& on) {
                on.run("UPDATE mortise_inbox_held SET arrived = arrived - 90000000 WHERE state = 2"
                );
            },
            db::durability::lazy,
            asio::use_future
        ));
    }

    tool::inbox_settings order(kind verb) const {
        tool::inbox_settings settings;
        settings.verb = verb;
        settings.database = database();
        return settings;
    }
    tool::inbox_settings order(kind verb, std::int64_t row) const {
        auto settings = order(verb);
        settings.row = row;
        return settings;
    }
    std::string look(const tool::inbox_settings& settings) const {
        std::ostringstream out;
        EXPECT_EQ(tool::look_at_inboxes(global_, settings, out), 0);
        return out.str();
    }
    boost::json::value look_json(const tool::inbox_settings& settings) {
        global_.json = true;
        const auto text = look(settings);
        global_.json = false;
        return boost::json::parse(text);
    }
    std::string say(const tool::inbox_settings& settings) const {
        std::ostringstream out;
        asio::io_context context(1);
        auto doing =
            asio::co_spawn(context, tool::mend_inbox(global_, settings, out), asio::use_future);
        context.run();
        EXPECT_EQ(doing.get(), 0);
        return out.str();
    }
    std::pair<int, std::string> failure_of(const tool::inbox_settings& settings) const {
        const bool looks = settings.verb == kind::ls || settings.verb == kind::parked;
        try {
            looks ? look(settings) : say(settings);
        } catch (const tool::failure& how) {
            return {how.exit_code(), how.text()};
        }
        return {0, {}};
    }

    const scratch_folder folder_;
    std::atomic<bool> understood_{false};
    std::atomic<int> handled_{0};
    std::int64_t next_ = 0;
    outbox_site site_;
    std::shared_ptr<db::sqlite> session_;
    std::optional<outbox::inbox> inbox_;
    tool::global_settings global_;
};

TEST_F(InboxCommand, ShowsHowFarEachInboxIs) {
    hold_some();
    make_first_older();
    const auto text = look(order(kind::ls));
    EXPECT_THAT(text, testing::StartsWith("INBOX "));
    EXPECT_THAT(text, testing::ContainsRegex("\n *orders .* (9[0-9]|10[0-9])\\.[0-9]{3} s\n"));
    EXPECT_THAT(text, HasSubstr("orders  events-0     5\n"));
    const auto report = look_json(order(kind::ls));
    ASSERT_EQ(report.at("inboxes").as_array().size(), 1u);
    const auto& only = report.at("inboxes").at(0);
    EXPECT_EQ(only.at("name").as_string(), "orders");
    EXPECT_EQ(only.at("parked").to_number<int>(), 1);
    EXPECT_EQ(only.at("behind").to_number<int>(), 2);
    EXPECT_EQ(only.at("retried").to_number<int>(), 1);
    EXPECT_GE(only.at("oldest_seconds").as_double(), 90.0);
    EXPECT_LT(only.at("oldest_seconds").as_double(), 110.0);
    EXPECT_EQ(only.at("sources").at(0).at("source").as_string(), "events-0");
    EXPECT_EQ(only.at("sources").at(0).at("next").to_number<int>(), 5);
}

TEST_F(InboxCommand, ShowsNoAgeOfAnInboxThatHoldsNothing) {
    start();
    deliver({{"f", "1"}});
    EXPECT_THAT(look(order(kind::ls)), testing::ContainsRegex("\norders +1 +0 +0 +0 +0 +-\n"));
    const auto report = look_json(order(kind::ls));
    EXPECT_EQ(report.at("inboxes").at(0).at("oldest_seconds").as_double(), 0.0);
}

TEST_F(InboxCommand, ShowsWhatIsParkedAndHowMuchWaitsForIt) {
    hold_some();
    make_first_older();
    const auto text = look(order(kind::parked));
    EXPECT_THAT(text, HasSubstr("nobody understands it"));
    EXPECT_THAT(text, Not(HasSubstr("not yet")));
    const auto report = look_json(order(kind::parked));
    ASSERT_EQ(report.at("parked").as_array().size(), 1u);
    const auto& only = report.at("parked").at(0);
    EXPECT_EQ(only.at("behind").to_number<int>(), 2);
    EXPECT_EQ(only.at("place").to_number<int>(), 0);
    EXPECT_GE(only.at("age_seconds").as_double(), 90.0);
    EXPECT_LT(only.at("age_seconds").as_double(), 110.0);
    EXPECT_TRUE(only.at("arrived").is_string());
    EXPECT_EQ(only.at("payload").as_string(), "nonsense");
    EXPECT_EQ(only.at("reason").as_string(), "nobody\nunderstands it");
    auto all = order(kind::parked);
    all.all = true;
    EXPECT_THAT(look(all), HasSubstr("  retried  "));
    const auto more = look_json(all);
    ASSERT_EQ(more.at("parked").as_array().size(), 2u);
    EXPECT_EQ(more.at("parked").at(1).at("key").as_string(), "r");
    EXPECT_TRUE(more.at("parked").at(1).at("due").is_string());
}

TEST_F(InboxCommand, ReplaysAndTheInboxHearsOfIt) {
    hold_some();
    understood_ = true;
    EXPECT_EQ(say(order(kind::replay, 1)), "replay row 1: 1 message is tried again\n");
    EXPECT_TRUE(eventually([&] { return handled_ == 4; })) << "with those behind it";
    const auto again = failure_of(order(kind::replay, 1));
    EXPECT_EQ(again.first, tool::exit_code::nothing_to_do);
    EXPECT_THAT(again.second, HasSubstr("row 1; `mortise inbox parked"));
}

TEST_F(InboxCommand, ReplaysAllAtOnce) {
    hold_some();
    understood_ = true;
    auto all = order(kind::replay);
    all.all = true;
    EXPECT_EQ(say(all), "replay all rows: 1 message is tried again\n");
    EXPECT_TRUE(eventually([&] { return handled_ == 4; }));
    EXPECT_EQ(failure_of(all).first, tool::exit_code::nothing_to_do);
}

TEST_F(InboxCommand, GivesUpWhatIsParkedOrTriedAgain) {
    hold_some();
    EXPECT_EQ(failure_of(order(kind::drop, 2)).first, tool::exit_code::nothing_to_do);
    EXPECT_EQ(say(order(kind::drop, 1)), "drop row 1: given up, what waits behind it is tried\n");
    EXPECT_TRUE(eventually([&] { return handled_ == 3; }));
    global_.json = true;
    const auto report = boost::json::parse(say(order(kind::drop, 4)));
    EXPECT_EQ(report.at("order").as_string(), "drop");
    EXPECT_EQ(report.at("row").to_number<int>(), 4);
    global_.json = false;
    const auto left = look_json(order(kind::ls)).at("inboxes").at(0);
    EXPECT_EQ(left.at("parked").to_number<int>() + left.at("retried").to_number<int>(), 0);
}

TEST_F(InboxCommand, MakesNothingWhereNothingIs) {
    for (auto each : {order(kind::ls), order(kind::parked), order(kind::replay, 1)}) {
        const auto untouched = failure_of(each);
        EXPECT_EQ(untouched.first, tool::exit_code::unavailable);
        EXPECT_THAT(untouched.second, HasSubstr("no inbox"));
        each.database = (folder_.path() / "none.db").native();
        EXPECT_EQ(failure_of(each).first, tool::exit_code::unavailable);
        EXPECT_FALSE(std::filesystem::exists(each.database));
    }
}

TEST_F(InboxCommand, SaysWhereASourceGoesOn) {
    start();
    deliver({{"a", "0"}, {"a", "1"}, {"a", "2"}});
    EXPECT_EQ(handled_, 3);
    auto back = order(kind::move);
    back.inbox = "orders";
    back.source = "events-0";
    back.next = 2;
    EXPECT_THAT(say(back), HasSubstr("orders: events-0: goes on with offset 2"));
    next_ = 0;
    deliver({{"a", "0"}, {"a", "1"}, {"a", "2"}});
    EXPECT_EQ(handled_, 4) << "the last one alone was new";
    back.next = 0;
    global_.json = true;
    const auto report = boost::json::parse(say(back)).as_object();
    EXPECT_EQ(report.at("order"), "move");
    EXPECT_EQ(report.at("source"), "events-0");
    EXPECT_EQ(report.at("next").to_number<int>(), 0);
    global_.json = false;
    back.source = "events-1";
    const auto [code, text] = failure_of(back);
    EXPECT_EQ(code, tool::exit_code::nothing_to_do);
    EXPECT_THAT(text, HasSubstr("events-1"));
}

}  // namespace
}  // namespace mortise::test::inbox_command_test
