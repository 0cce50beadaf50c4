// SPDX-License-Identifier: BSL-1.0
// Kills a relay at each of its steps, and its writer, while another writer continues. The judge
// reads the shop's table and what a consumer reads from a real broker.
#include "chaos/relay_shop.hpp"
#include "mortise/coro/clock.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace mortise::test::relay_crash_test {
namespace {

using namespace std::chrono_literals;

class RelayCrash : public relay_shop {
protected:
    RelayCrash() : relay_shop(shared_kafka()) {}

    struct step {
        const char* name;
        int time;
    };
    /// The relay dies at `where` while a writer is active; the next relay sends the rest.
    void expect_survival_of(const step& where, const words& more = {}) {
        SCOPED_TRACE(where.name + (":" + std::to_string(where.time)));
        const auto writer = start_writer({"transactions=40", "pause=15"});
        const auto relay = start_relay(more, {crash_at(where.name, where.time)});
        expect_end(*relay, killed_code);
        expect_end(*writer, 0);
        // The next relay ends the dead one's transaction. It must not wait for the transaction's
        // timeout.
        const machine_delay delay;
        const auto begin = clock::now();
        drain();
        EXPECT_LT(clock::now() - begin, transaction_time - 2s + delay.so_far());
        expect_exactly_once();
    }
    static constexpr auto transaction_time = 10s;  // the actor's default
};

TEST_F(RelayCrash, AtEachStepOfATransaction) {
    for (const step& each :
         {step{"kafka.begun", 3},
          step{"kafka.half_produced", 4},
          step{"kafka.before_last", 5},
          step{"kafka.produced", 2},
          step{"kafka.commit", 6},
          step{"kafka.committed", 3}})
        expect_survival_of(each);
}

TEST_F(RelayCrash, AtEachStepBetweenTransactions) {
    for (const step& each :
         {step{"relay.taken", 2},
          step{"relay.opened", 3},
          step{"relay.read", 6},
          step{"relay.published", 4},
          step{"outbox.purging", 2},
          step{"relay.purged", 3}})
        expect_survival_of(each);
}

TEST_F(RelayCrash, AndTheNextOneHasItsLocksWhenItsLeaseIsOver) {
    for (const char* const point : {"kafka.half_produced", "kafka.commit", "relay.published"}) {
        SCOPED_TRACE(point);
        expect_end(*start_writer({"transactions=20"}), 0);
        // Stop the relay, so that it still has its locks when the next one asks for them.
        const auto relay =
            stopped_relay(point, 3, {locks(), "purge=100000", "purge_after=3600000"});
        ASSERT_TRUE(relay);
        const auto next = start_relay({"drain=1", locks()});
        relay->send(SIGKILL);
        expect_end(*relay, killed_code);
        const machine_delay delay;
        const auto begin = clock::now();
        expect_end(*next, 0);
        EXPECT_LT(clock::now() - begin, transaction_time - 2s + delay.so_far());
        expect_exactly_once();
    }
}

// The relay has asked for the commit, and dies before it reads the answer.
TEST_F(RelayCrash, BeforeItHearsOfItsCommit) {
    for (int delay = 0; delay <= 6; delay += 2) {
        SCOPED_TRACE(delay);
        const auto writer = start_writer({"transactions=20", "pause=5"});
        const auto relay = stopped_relay("kafka.commit", 2 + delay / 2);
        ASSERT_TRUE(relay);
        relay->resume();
        eventually([] { return false; }, std::chrono::milliseconds(delay));
        relay->send(SIGKILL);
        expect_end(*relay, killed_code);
        expect_end(*writer, 0);
        drain();
        expect_exactly_once();
    }
}

TEST_F(RelayCrash, ManyOneAfterTheOtherWithoutAnEndInBetween) {
    const auto writer = start_writer({"transactions=150", "pause=20"});
    for (const step& each :
         {step{"kafka.half_produced", 2},
          step{"kafka.committed", 1},
          step{"relay.read", 5},
          step{"kafka.before_last", 1},
          step{"outbox.purging", 1}}) {
        const auto relay = start_relay({}, {crash_at(each.name, each.time)});
        expect_end(*relay, killed_code);
    }
    expect_end(*writer, 0);
    drain();
    expect_exactly_once();
}

TEST_F(RelayCrash, OfTheWriterInTheMiddleOfItsTransaction) {
    const auto relay = start_relay();
    for (const int time : {5, 12}) {
        const auto writer = start_writer({"pause=5"}, {crash_at("shop.appended", time)});
        expect_end(*writer, killed_code);
        EXPECT_GT(sales(), 0u);
    }
    const auto last = start_writer({"transactions=10"});
    expect_end(*last, 0);
    relay->send(SIGTERM);
    expect_end(*relay, 0);
    drain();
    expect_exactly_once();
    EXPECT_EQ(sales(), 2u * (4 + 10 + 9)) << "what was not committed, and every seventh, is not";
}

TEST_F(RelayCrash, OfTheWriterBetweenItsCommitAndItsRing) {
    const auto relay = start_relay();
    expect_end(*start_writer({"transactions=5"}), 0);
    ASSERT_TRUE(all_is_published()) << output();
    const auto before = sales();
    expect_end(*start_writer({}, {crash_at("outbox.ringing", 1)}), killed_code);
    EXPECT_GT(sales(), before) << "it has not committed";
    // The bell did not ring: the relay finds the rows by a look of its own.
    EXPECT_TRUE(all_is_published()) << output();
    expect_end(*start_writer({}, {crash_at("outbox.ringing", 1)}), killed_code);
    relay->send(SIGTERM);
    expect_end(*relay, 0);
    drain();
    expect_exactly_once();
}

// From four shards to six, then to three, while a writer is active.
TEST_F(RelayCrash, AtEachStepOfAChangeOfTheNumberOfShards) {
    int shards = 4;
    for (const step& each :
         {step{"outbox.resharding", 1},
          step{"relay.published", 3},
          step{"outbox.finishing", 2},
          step{"relay.finished", 3},
          step{"relay.taken", 6},
          step{"relay.opened", 6}}) {
        SCOPED_TRACE(each.name);
        shards = shards == 6 ? 3 : 6;
        const auto writer = start_writer({"transactions=40", "pause=20"});
        const bool before = std::string(each.name) == "outbox.resharding";
        const words change{"reshard", "shards=" + std::to_string(shards)};
        if (before) {
            const auto broken = start(change, {crash_at(each.name, each.time)});
            expect_end(*broken, killed_code);
        }
        const auto relay =
            start_relay({}, before ? words() : words{crash_at(each.name, each.time)});
        const auto changer = start(change);
        expect_end(*changer, 0);
        if (before)
            relay->send(SIGKILL);
        expect_end(*relay, killed_code);
        expect_end(*writer, 0);
        drain();
        expect_exactly_once();
    }
    EXPECT_EQ(sql("SELECT count(*) FROM mortise_outbox_shard WHERE done = 0"), 3);
}

// All sent rows were purged before, so nothing is sent twice.
TEST_F(RelayCrash, AndTheBrokerHasForgottenTheMarks) {
    expect_end(*start_writer(), 0);
    drain();
    broker_.delete_topic(progress_);
    expect_end(*start_writer(), 0);
    drain();
    EXPECT_EQ(times_printed("mark lost"), 4u) << output();
    expect_exactly_once();
    // Rows sent since the last purge are sent twice, with the same ids.
    const words rarely{"purge=10000", "purge_after=60000"};
    const auto writer = start_writer();
    const auto relay = start_relay(rarely, {crash_at("relay.published", 9)});
    expect_end(*relay, killed_code);
    expect_end(*writer, 0);
    broker_.delete_topic(progress_);
    drain();
    EXPECT_EQ(times_printed("mark lost"), 8u) << output();
    EXPECT_EQ(what_is_wrong(repetitions::left_out), "");
}

// Tests the judge: it must find a relay that does not read the mark of the last one.
TEST_F(RelayCrash, IsFoundToRepeatIfTheMarkIsNotRead) {
    const words rarely{"purge=10000", "purge_after=60000"};
    expect_end(*start_writer(), 0);
    const auto relay = start_relay(rarely, {crash_at("relay.published", 9)});
    expect_end(*relay, killed_code);
    const auto wrong = start_relay({"drain=1"}, {"MORTISE_PLANT=mark_not_read"});
    expect_end(*wrong, 0);
    EXPECT_NE(what_is_wrong(), "");
    EXPECT_EQ(what_is_wrong(repetitions::left_out), "");
}

}  // namespace
}  // namespace mortise::test::relay_crash_test
