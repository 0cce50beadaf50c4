// SPDX-License-Identifier: BSL-1.0
// Handlers that harm more than their own message.
#include "unit/outbox/inbox_fixture.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::inbox_spoiled_test {
namespace {

using outbox::answer;
using outbox::held_message;
using outbox::received;
using texts = std::vector<std::string>;

// At the end of the transaction nobody would know whose it is.
TEST_F(OutboxInbox, AForeignKeyThatIsLeftOpenIsTheFailureOfItsMessage) {
    run([](db::connection& on) {
        on.run("CREATE TABLE parcel(id INTEGER PRIMARY KEY)");
        on.run("CREATE TABLE label(of INTEGER REFERENCES parcel DEFERRABLE INITIALLY DEFERRED)");
    });
    auto how = config();
    how.handler = [this](db::connection& on, const received& received) {
        if (received.message.payload == "orphan")
            on.run("INSERT INTO label VALUES(7)");
        return handle(on, received);
    };
    start(how);
    deliver({of("k", "1"), of("bad", "orphan"), of("bad", "2"), of("k", "3")});
    EXPECT_EQ(book(), (texts{"1", "3"}));
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    EXPECT_EQ(inbox_->stats().failed, 3u);
    const auto rows = held();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].attempts, 3u);
    EXPECT_NE(rows[0].reason.find("foreign key"), std::string::npos) << rows[0].reason;
    run([row = rows[0].row](db::connection& on) {
        on.run("INSERT INTO parcel VALUES(7)");
        outbox::replay_held(on, row);
    });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 4; }));
    EXPECT_EQ(book("bad"), (texts{"orphan", "2"}));
}

/// Spoils the transaction that a handler is called in, and lets the error pass or not.
class spoiler {
public:
    const char* sql;
    bool passes;

    friend std::ostream& operator<<(std::ostream& out, const spoiler& value) {
        return out << value.sql << (value.passes ? "" : ", and says nothing");
    }
};

class OutboxInboxSpoiled : public OutboxInbox, public testing::WithParamInterface<spoiler> {
protected:
    void SetUp() override {
        OutboxInbox::SetUp();
        run([](db::connection& on) {
            on.run("CREATE TABLE trap(x)");
            on.run("CREATE TRIGGER snap BEFORE INSERT ON trap"
                   " BEGIN SELECT RAISE(ROLLBACK, 'snap'); END");
        });
        auto how = config();
        how.handler = [this](db::connection& on, const received& received) {
            const answer result = handle(on, received);
            if (received.message.payload == "bad" && broken_)
                spoil(on);
            return result;
        };
        start(how);
    }
    static void spoil(db::connection& on) {
        try {
            on.run(GetParam().sql);
        } catch (const error&) {
            if (GetParam().passes)
                throw;
        }
    }
    std::atomic<bool> broken_{true};
};

TEST_P(OutboxInboxSpoiled, AMessageWhoseHandlerEndsTheTransactionIsParkedAndHoldsUpItsKeyOnly) {
    std::vector<received> some;
    texts others;
    for (int i = 0; i < 9; ++i) {
        others.push_back(std::to_string(i));
        some.push_back(of("k", others.back()));
        if (i == 2 || i == 6)
            some.push_back(of("bad" + std::to_string(i), "bad"));
    }
    some.push_back(of("bad2", "behind"));
    deliver(some);
    // Until then whatever is run beside may be undone with it.
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 2; }));
    EXPECT_EQ(inbox_->stats().failed, 6u);
    deliver(some);
    EXPECT_EQ(inbox_->stats().repeated, some.size());
    const auto rows = held();
    ASSERT_EQ(rows.size(), 3u);
    for (const auto& each : rows) {
        const bool bad = each.received.message.payload == "bad";
        EXPECT_EQ(each.at, bad ? held_message::state::parked : held_message::state::behind);
        EXPECT_EQ(each.attempts, bad ? 3u : 0u);
        EXPECT_EQ(each.reason.empty(), !bad);
    }
    EXPECT_EQ(book(), others);
    EXPECT_TRUE(book("bad2").empty());
    broken_ = false;
    run([](db::connection& on) { outbox::replay_all_held(on); });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == some.size(); }));
    EXPECT_EQ(book("bad2"), (texts{"bad", "behind"}));
    EXPECT_EQ(book("bad6"), texts{"bad"});
}

INSTANTIATE_TEST_SUITE_P(
    ,
    OutboxInboxSpoiled,
    testing::Values(
        spoiler{"COMMIT", true},
        spoiler{"COMMIT", false},
        spoiler{"ROLLBACK", true},
        spoiler{"INSERT INTO trap VALUES(1)", true},
        spoiler{"INSERT INTO trap VALUES(1)", false},
        spoiler{"INSERT OR ROLLBACK INTO book(id) VALUES(1), (1)", true},
        spoiler{"RELEASE mortise_message", false}
    )
);

TEST_F(OutboxInbox, WhatComesOfASourceInBetweenIsNotPassedOverInSilence) {
    std::promise<void> entered;
    std::promise<void> leave;
    auto how = config();
    how.handler = [&](db::connection& on, const received& received) {
        if (received.message.payload == "bad" && failures_-- > 0) {
            entered.set_value();
            leave.get_future().wait();
            on.run("COMMIT");
        }
        return handle(on, received);
    };
    failures_ = 1;
    start(how);
    const std::vector<received> first = {of("k", "1"), of("k", "bad")};
    auto delivered = inbox_->async_receive(first, asio::use_future);
    entered.get_future().wait();
    auto second = inbox_->async_receive(std::vector<received>{of("k", "3")}, asio::use_future);
    leave.set_value();
    wait_for(std::move(second));
    try {
        wait_for(std::move(delivered));
        ADD_FAILURE() << "its messages are taken for known";
    } catch (const boost::system::system_error& why) {
        EXPECT_EQ(why.code(), mortise::errc::rolled_back);
    }
    EXPECT_EQ(book(), texts{"3"});
}

}  // namespace
}  // namespace mortise::test::inbox_spoiled_test
