// SPDX-License-Identifier: BSL-1.0
// The broker of a relay dies or stops in each phase of the relay's work, and just when it is asked
// to commit. It forgets the relay. Another broker replaces it.
#include "chaos/relay_shop.hpp"
#include "support/amount.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"

#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <vector>

namespace mortise::test::relay_broker_test {
namespace {

using namespace std::chrono_literals;

class RelayBroker : public relay_shop {
protected:
    RelayBroker() : relay_shop(shared_kafka()) {}

    static constexpr const char* phases[] = {
        "relay.taken",
        "relay.opened",
        "kafka.begun",
        "kafka.half_produced",
        "kafka.before_last",
        "kafka.commit",
        "kafka.committed"};

    /// Runs a relay, and calls `trouble` for the broker in the middle of the sending.
    template <class Trouble>
    void expect_patience_at(const std::string& phase, Trouble trouble) {
        SCOPED_TRACE(phase);
        expect_end(*start_writer({"transactions=20"}), 0);
        const auto relay = stopped_relay(phase, 3, {"drain=1", "commit=1000"});
        ASSERT_TRUE(relay);
        trouble(*relay);
        expect_end(*relay, 0);
        expect_exactly_once();
    }
};

TEST_F(RelayBroker, IsKilledInEachPhase) {
    for (const char* const phase : phases) {
        expect_patience_at(phase, [this](child_program& relay) {
            broker_.kill();
            relay.resume();
            broker_.start();
        });
    }
}

TEST_F(RelayBroker, StopsInEachPhase) {
    for (const char* const phase : phases) {
        expect_patience_at(phase, [this](child_program& relay) {
            broker_.suspend();
            relay.resume();
            eventually([] { return false; }, 2s);  // longer than the relay asks after its commit
            broker_.resume();
        });
    }
}

// Longer than a record may take, and longer than a transaction may last.
TEST_F(RelayBroker, IsAwayForLongerThanAnythingWaits) {
    for (const char* const phase : {"kafka.half_produced", "kafka.commit"}) {
        expect_patience_at(phase, [this](child_program& relay) {
            broker_.kill();
            relay.resume();
            eventually([] { return false; }, 12s);
            broker_.start();
        });
    }
}

// Between the decision of a transaction and the moment when all of it can be read.
TEST_F(RelayBroker, IsKilledAMomentAfterItWasAskedToCommit) {
    const int seeds = static_cast<int>(amount("MORTISE_COMMIT_SEEDS", 1, 12));
    ASSERT_GT(seeds, 0);
    std::mt19937_64 chance(amount("MORTISE_FIRST_SEED", 1, 1));
    for (int seed = 0; seed < seeds; ++seed) {
        const auto delay = std::chrono::milliseconds(chance() % 21);
        const auto time = static_cast<int>(1 + chance() % 6);  // it makes at least six commits
        SCOPED_TRACE(
            "the broker is killed " + std::to_string(delay.count()) + " ms after commit " +
            std::to_string(time)
        );
        expect_end(*start_writer({"transactions=20"}), 0);
        const auto relay = stopped_relay("kafka.commit", time, {"drain=1"});
        ASSERT_TRUE(relay);
        relay->resume();
        eventually([] { return false; }, delay);
        broker_.kill();
        broker_.start();
        expect_end(*relay, 0);
        if (seed % 10 == 0 || seed + 1 == seeds)
            expect_exactly_once();
    }
}

TEST_F(RelayBroker, ThatDoesNotAnswerKeepsNoRelayFromStopping) {
    expect_end(*start_writer({"transactions=20"}), 0);
    const auto relay = stopped_relay("kafka.commit", 3);
    ASSERT_TRUE(relay);
    broker_.suspend();
    relay->resume();
    eventually([] { return false; }, 300ms);  // it waits for an answer by then
    const machine_delay delay;
    relay->send(SIGTERM);
    const auto begin = clock::now();
    expect_end(*relay, 0);
    EXPECT_LT(clock::now() - begin, 20s + delay.so_far()) << output();
    broker_.resume();
    drain();
    expect_exactly_once();
}

/// Forgets within seconds what other brokers forget within a week.
kafka_broker& forgetful_broker() {
    static kafka_broker broker(
        {"transactional.id.expiration.ms=1500",
         "transaction.remove.expired.transaction.cleanup.interval.ms=250",
         "producer.id.expiration.ms=1500",
         "producer.id.expiration.check.interval.ms=250",
         "log.cleaner.backoff.ms=100"}
    );
    return broker;
}

class RelayBrokerAlone : public relay_shop {
protected:
    RelayBrokerAlone() : relay_shop(forgetful_broker()) {}
};

TEST_F(RelayBrokerAlone, HasForgottenARelayThatWasIdleForTooLong) {
    const auto relay = start_relay();
    expect_end(*start_writer({"transactions=20"}), 0);
    ASSERT_TRUE(all_is_published()) << output();
    eventually([] { return false; }, 4s);
    expect_end(*start_writer({"transactions=20"}), 0);
    EXPECT_TRUE(all_is_published()) << output();
    EXPECT_GT(times_printed("failed"), 0u) << "it was not forgotten";
    relay->send(SIGTERM);
    expect_end(*relay, 0);
    expect_exactly_once();
}

// The topic of the marks is compacted: only the newest mark of each shard stays.
TEST_F(RelayBrokerAlone, HasForgottenAllMarksButTheNewest) {
    broker_.create_topic(
        progress_,
        6,
        {{"cleanup.policy", "compact"},
         {"segment.ms", "100"},
         {"min.cleanable.dirty.ratio", "0.001"},
         {"max.compaction.lag.ms", "100"},
         {"delete.retention.ms", "100"}}
    );
    const auto left = [this] { return kafka_reader(broker_.address()).read(progress_).size(); };
    std::size_t marks = 0;
    const auto write_and_send = [&] {
        expect_end(*start_writer({"transactions=30"}), 0);
        drain({"batch=1"});
        marks = static_cast<std::size_t>(sql("SELECT sum(sequence) FROM mortise_outbox_shard"));
    };
    write_and_send();
    // Compaction keeps the newest file. A file ends at the first write after its time.
    EXPECT_TRUE(eventually([&] { return write_and_send(), left() * 2 < marks; }, 30s)) << marks;
    write_and_send();
    expect_exactly_once();
}

TEST_F(RelayBrokerAlone, IsReplacedByAnotherOneToWhichNothingIsSent) {
    expect_end(*start_writer({"transactions=20"}), 0);
    drain();
    expect_exactly_once();
    broker_.kill();
    broker_.start(kafka_broker::data::lost);
    broker_.create_topic(topic_, 3);
    expect_end(*start_writer({"transactions=20"}), 0);
    const auto relay = start_relay({"drain=1"});
    expect_end(*relay, 1);
    EXPECT_GT(times_printed("refused"), 0u) << output();
    EXPECT_TRUE(kafka_reader(broker_.address()).read_settled(topic_).empty());
}

}  // namespace
}  // namespace mortise::test::relay_broker_test
