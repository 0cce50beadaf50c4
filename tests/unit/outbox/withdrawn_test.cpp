// SPDX-License-Identifier: BSL-1.0
// What is taken back, put off, given up or mended before it is sent; and ids that come once only.
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/operate.hpp"
#include "unit/outbox/outbox_world.hpp"
#include "wall_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mortise::test::outbox_withdrawn_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::row_kind;
using texts = std::vector<std::string>;

class OutboxWithdrawn : public outbox_world {
protected:
    static message later(const std::string& id, std::chrono::milliseconds in = 1h) {
        message event("events", "k", id);
        event.id = id;
        event.not_before = outbox::wall_time(outbox::wall_now()) + in;
        return event;
    }
    std::size_t cancel(const std::string& id) {
        return run([id](db::connection& on) { return outbox::cancel(on, id); });
    }
    std::size_t reschedule(const std::string& id, std::chrono::milliseconds in) {
        const auto due = outbox::wall_time(outbox::wall_now()) + in;
        return run([id, due](db::connection& on) { return outbox::reschedule(on, id, due); });
    }
    void discard(std::int64_t row) {
        run([row](db::connection& on) { outbox::discard(on, row); });
    }
    error_code refusal_of_discard(std::int64_t row) {
        try {
            discard(row);
        } catch (const boost::system::system_error& refused) {
            return refused.code();
        }
        return {};
    }
    std::int64_t row_of(const std::string& payload, row_kind kind = row_kind::waiting) {
        for (const auto& each : list(kind)) {
            if (each.message.payload == payload)
                return each.row;
        }
        ADD_FAILURE() << payload << " is not there";
        return 0;
    }
    error_code append_once(const std::string& id, std::chrono::milliseconds span = 1h) {
        message event("events", "k", id);
        event.id = id;
        try {
            run([&](db::connection& on) { outbox::append(on, event, {.unique_for = span}); });
        } catch (const boost::system::system_error& refused) {
            return refused.code();
        }
        return {};
    }
};

TEST_F(OutboxWithdrawn, WhatIsNotDueIsTakenBack) {
    append(later("1"));
    append(later("2"));
    append(later("2"));
    append(later("3", 200ms));
    EXPECT_EQ(
        run([](db::connection& on) { return outbox::find_later(on, "2"); }).at(1).message.payload,
        "2"
    );
    EXPECT_EQ(cancel("2"), 2u);
    EXPECT_EQ(cancel("2"), 0u);
    EXPECT_EQ(cancel("nothing"), 0u);
    start();
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
    EXPECT_EQ(cancel("3"), 0u) << "it was too late";
    EXPECT_EQ(describe().later, 1u);
    EXPECT_EQ(cluster_.payloads(), texts{"3"});
}

TEST_F(OutboxWithdrawn, WhatIsNotDueGetsAnotherTime) {
    append(later("1"));
    append(later("2"));
    start();
    drain();
    EXPECT_EQ(reschedule("1", 2h), 1u);
    EXPECT_EQ(reschedule("2", -1s), 1u);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
    EXPECT_EQ(cluster_.payloads(), texts{"2"});
    EXPECT_EQ(reschedule("2", 1h), 0u) << "it was too late";
    const auto left = list(row_kind::later);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_GT(*left[0].message.not_before, outbox::wall_time(outbox::wall_now()) + 90min);
    EXPECT_EQ(reschedule("1", 50ms), 1u);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 2; })) << "the relay waits for it anew";
}

TEST_F(OutboxWithdrawn, WhatWaitsIsGivenUp) {
    for (const char* each : {"1", "2", "3", "4"})
        append("k", each);
    const auto second = row_of("2");
    const auto last = row_of("4");
    discard(second);
    discard(last);
    EXPECT_EQ(refusal_of_discard(second), outbox::errc::no_such_row) << "it is given up already";
    EXPECT_EQ(refusal_of_discard(99), outbox::errc::no_such_row);
    EXPECT_EQ(refusal_of_discard(-1), outbox::errc::no_such_row);
    EXPECT_TRUE(run([second](db::connection& on) { return outbox::find(on, second); })->discarded);
    auto how = config();
    how.keep = 1h;
    start(how);
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "3"}));
    // The mark is past the last row: the next one finds the mark where it is.
    stop();
    EXPECT_EQ(describe().waiting, 0u);
    EXPECT_EQ(refusal_of_discard(row_of("3")), outbox::errc::no_such_row) << "it was sent";
    append("k", "5");
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "3", "5"}));
    EXPECT_EQ(events(outbox::relay_event::kind::refused), 0u);
}

TEST_F(OutboxWithdrawn, AShardOfWhichAllIsGivenUpIsDoneWhenTheirNumberChanges) {
    append("k", "1");
    append("k", "2");
    discard(row_of("1"));
    discard(row_of("2"));
    run([](db::connection& on) { outbox::reshard(on, 1); });
    append("k", "3");
    start();
    drain();
    EXPECT_TRUE(eventually([&] { return cluster_.payloads() == texts{"3"}; }));
}

TEST_F(OutboxWithdrawn, WhatIsGivenUpBehindAFailureIsPassedOver) {
    cluster_.refuse("poison");
    append("k", "poison");
    append("k", "2");
    append("k", "3");
    discard(row_of("2"));
    start();
    drain();
    EXPECT_EQ(list(row_kind::parked).size(), 2u);
    cluster_.refuse(std::nullopt);
    const auto row = row_of("poison", row_kind::parked);
    EXPECT_EQ(run([row](db::connection& on) { return outbox::replay(on, row); }), 2u);
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"poison", "3"}));
}

TEST_F(OutboxWithdrawn, AParkedMessageIsMendedAndSentInItsPlace) {
    cluster_.refuse("poison");
    for (const char* each : {"poison", "2", "3"})
        append("k", each);
    start();
    drain();
    const auto parked = list(row_kind::parked);
    ASSERT_EQ(parked.size(), 3u);
    message mended = parked[0].message;
    const auto id = mended.id;
    mended.payload = "mended";
    mended.headers.emplace_back("by", "hand");
    mended.id.clear();
    const auto row = parked[0].row;
    EXPECT_EQ(run([&](db::connection& on) { return outbox::replay(on, row, mended); }), 3u);
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"mended", "2", "3"}));
    EXPECT_EQ(cluster_.messages().at(0).message.id, id);
    EXPECT_EQ(*cluster_.messages().at(0).message.find_header("by"), "hand");
}

TEST_F(OutboxWithdrawn, AMendedMessageMayGetAnotherKeyAndTopicAndItsOldOneIsFree) {
    cluster_.refuse("poison");
    append("k", "poison");
    append("k", "2");
    start();
    drain();
    cluster_.refuse(std::nullopt);
    const auto row = row_of("poison", row_kind::parked);
    const message elsewhere("elsewhere", "another key", "mended");
    EXPECT_EQ(run([&](db::connection& on) { return outbox::replay(on, row, elsewhere); }), 2u);
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), texts{"2"});
    EXPECT_EQ(cluster_.payloads_of("another key"), texts{"mended"});
    append("another key", "next");
    std::set<std::uint32_t> shards;
    for (const auto& each : list(row_kind::waiting)) {
        if (each.message.key == "another key")
            shards.insert(each.shard.value());
    }
    EXPECT_EQ(shards.size(), 1u) << "it would not keep its order";
    EXPECT_TRUE(list(row_kind::parked).empty());
}

TEST_F(OutboxWithdrawn, WhatCannotBeARowIsNotMendedSo) {
    cluster_.refuse("poison");
    append("k", "poison");
    start();
    drain();
    const auto row = row_of("poison", row_kind::parked);
    try {
        run([row](db::connection& on) { outbox::replay(on, row, message()); });
        ADD_FAILURE() << "it has no topic";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::no_topic);
    }
    EXPECT_EQ(list(row_kind::parked).at(0).message.payload, "poison");
}

TEST_F(OutboxWithdrawn, AnIdIsRefusedTheSecondTimeWhereThatIsWanted) {
    EXPECT_FALSE(append_once("order 1"));
    EXPECT_EQ(append_once("order 1"), outbox::errc::duplicate_id);
    EXPECT_FALSE(append_once("order 2"));
    start();
    drain();
    stop();
    EXPECT_EQ(append_once("order 1"), outbox::errc::duplicate_id) << "also when it was sent";
    message event("events", "k", "asks for nothing");
    event.id = "order 1";
    append(event);
    EXPECT_GT(row_of("asks for nothing"), 0);
}

TEST_F(OutboxWithdrawn, AnIdIsFreeAfterItsTimeAndWhenItIsTakenBack) {
    EXPECT_FALSE(append_once("short", 1ms));
    EXPECT_TRUE(eventually([&] { return !append_once("short", 1ms); }));
    auto reminder = later("reminder");
    const auto once = [&] {
        run([&](db::connection& on) { outbox::append(on, reminder, {.unique_for = 1h}); });
    };
    once();
    EXPECT_THROW(once(), boost::system::system_error);
    EXPECT_EQ(cancel("reminder"), 1u);
    once();
    EXPECT_EQ(list(row_kind::later).size(), 1u);
    for (int i = 0; i < 20; ++i)
        append_once("of a moment " + std::to_string(i), 1ms);
    EXPECT_TRUE(eventually([&] {
        append_once("another", 1ms);
        return run([](db::connection& on) {
                   auto row = on.query("SELECT count(*) FROM mortise_outbox_id");
                   row.step();
                   return row.integer(0);
               }) <= 3;
    })) << "what need not be remembered is forgotten";
}

TEST_F(OutboxWithdrawn, ARefusedIdLeavesNothing) {
    EXPECT_FALSE(append_once("order 1"));
    run([](db::connection& on) {
        message event("events", "k", "again");
        event.id = "order 1";
        EXPECT_THROW(outbox::append(on, event, {.unique_for = 1h}), error);
        outbox::append(on, message("events", "k", "beside"));  // goes on, and is committed
    });
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), (texts{"order 1", "beside"}));
}

}  // namespace
}  // namespace mortise::test::outbox_withdrawn_test
