// SPDX-License-Identifier: BSL-1.0
// Relays that are stopped in the middle of a step, and resumed after another one has come. Also two
// relays that do not know of each other.
#include "chaos/relay_shop.hpp"
#include "support/eventually.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace mortise::test::relay_zombie_test {
namespace {

using namespace std::chrono_literals;

class RelayZombie : public relay_shop {
protected:
    RelayZombie() : relay_shop(shared_kafka()) {}

    // Makes database writes rare: a relay that is stopped while it writes would block all others.
    static inline const words rarely{"purge=100000", "purge_after=3600000"};

    void stop(child_program& child) const {
        child.send(SIGTERM);
        expect_end(child, 0);
    }
    std::size_t waiting() const {
        return static_cast<std::size_t>(
            sql("SELECT count(*) FROM mortise_outbox AS o, mortise_outbox_shard AS s"
                " WHERE o.slot >> 46 = s.shard AND o.slot & 0x3fffffffffff > s.row")
        );
    }
};

TEST_F(RelayZombie, ThatWasInTheMiddleOfATransactionPublishesNothingOfIt) {
    // Each shard then has stored its sink, which is a write.
    expect_end(*start_writer({"transactions=20"}), 0);
    drain();
    for (const char* const point :
         {"kafka.begun", "kafka.half_produced", "kafka.before_last", "kafka.commit"}) {
        SCOPED_TRACE(point);
        expect_end(*start_writer({"transactions=20"}), 0);
        const auto zombie = stopped_relay(point, 3, rarely);
        ASSERT_TRUE(zombie);
        drain();
        expect_exactly_once();
        const std::size_t before = times_printed("failed");
        zombie->resume();
        expect_end(*start_writer({"transactions=20"}), 0);
        EXPECT_TRUE(eventually([&] { return times_printed("failed") > before; })) << output();
        stop(*zombie);
        drain();
        expect_exactly_once();
    }
}

TEST_F(RelayZombie, ThatHoldsAStaleBatchPublishesNothingOfIt) {
    words shared = rarely;
    shared.push_back(locks());
    for (const int time : {1, 4}) {
        SCOPED_TRACE(time);
        expect_end(*start_writer({"transactions=20"}), 0);
        const auto zombie = stopped_relay("relay.read", time, shared);
        ASSERT_TRUE(zombie);
        // The next relay gets the locks when their leases end.
        drain({locks()});
        expect_exactly_once();
        zombie->resume();
        expect_end(*start_writer({"transactions=20"}), 0);
        EXPECT_TRUE(all_is_published()) << output();
        stop(*zombie);
        drain();
        expect_exactly_once();
    }
}

TEST_F(RelayZombie, OneThatSleptThroughItsOwnTransactionSendsItOnceMore) {
    expect_end(*start_writer(), 0);
    words short_time = rarely;
    short_time.emplace_back("transaction=1000");
    const auto relay = stopped_relay("kafka.half_produced", 3, short_time);
    ASSERT_TRUE(relay);
    eventually([] { return false; }, 2s);
    const auto before = times_printed("failed");  // a slow broker's first record
    relay->resume();
    EXPECT_TRUE(eventually([&] { return times_printed("failed") > before; })) << output();
    expect_end(*start_writer(), 0);
    stop(*relay);
    drain();
    expect_exactly_once();
}

// Each fences the other and takes over its shards; in the end all rows are sent.
TEST_F(RelayZombie, TwoWithoutALockBetweenThemTakeTurns) {
    // On a busy machine a relay needs more than the usual 200 ms to open and to commit. A fenced
    // relay must leave the other that much time.
    const auto one = start_relay({"retry_max=2000"});
    const auto two = start_relay({"retry_max=2000"});
    expect_end(*start_writer({"transactions=200", "pause=20"}), 0);
    EXPECT_TRUE(eventually([&] { return waiting() == 0; }, 90s)) << output();
    EXPECT_GT(times_printed("failed"), 0u) << "they did not meet";
    stop(*one);
    stop(*two);
    drain();
    expect_exactly_once();
}

}  // namespace
}  // namespace mortise::test::relay_zombie_test
