// SPDX-License-Identifier: BSL-1.0
// A consumer, and a processor, that is killed at each of its named points, and the next of its
// group.
#include "mortise/db/sqlite.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "support/scratch_folder.hpp"
#include "unit/kafka/inbox_party.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace mortise::test::kafka_crash_test {
namespace {

using namespace std::chrono_literals;

constexpr int killed = 128 + SIGKILL;
constexpr int partitions = 3;
constexpr int records = 60;

struct point {
    const char* name;
    std::vector<int> times;
};

void PrintTo(const point& value, std::ostream* to) {
    *to << value.name;
}

std::string name_of(const testing::TestParamInfo<point>& each) {
    std::string name = each.param.name;
    for (auto& letter : name)
        letter = letter == '.' ? '_' : letter;
    return name;
}

class KafkaCrash : public testing::TestWithParam<point> {
protected:
    KafkaCrash() {
        broker_.create_topic(topic_, partitions);
        const raw_kafka by = open_raw_producer(broker_.address());
        for (int i = 0; i < records; ++i)
            raw_kafka_produce(
                by, topic_, i % partitions, std::to_string(i % partitions), std::to_string(i)
            );
    }

    std::vector<std::string> command(
        const std::string& crash_at, const std::string& how, const std::string& argument
    ) const {
        return {
            "env",
            "MORTISE_CRASH_AT=" + crash_at,
            built_program("tests/kafka_actor"),
            broker_.address(),
            group_,
            topic_,
            how,
            argument};
    }
    int run(const std::vector<std::string>& words) const {
        child_program actor(words, folder_.path() / "output");
        return actor.wait(60s).value_or(-1);
    }
    int consume(const std::string& crash_at = "NONE:1") const {
        const std::string database = (folder_.path() / "ship.db").string();
        return run(command(crash_at, database, std::to_string(records)));
    }
    static std::map<std::string, std::vector<std::string>> wanted() {
        std::map<std::string, std::vector<std::string>> result;
        for (int i = 0; i < records; ++i)
            result[std::to_string(i % partitions)].push_back(std::to_string(i));
        return result;
    }
    std::string output() const {
        std::ifstream file(folder_.path() / "output");
        return {std::istreambuf_iterator<char>(file), {}};
    }

    kafka_broker& broker_ = shared_kafka();
    const scratch_folder folder_;
    const std::string topic_ = fresh_name("topic");
    const std::string group_ = fresh_name("group");
};

INSTANTIATE_TEST_SUITE_P(
    Points,
    KafkaCrash,
    testing::Values(
        point{"consumer.received", {1, 3}},
        point{"inbox.handled", {1, 2}},
        point{"consumer.handled", {1, 3}}
    ),
    &name_of
);

TEST_P(KafkaCrash, TheNextGoesOnAndEachMessageHasItsEffectOnce) {
    for (const int time : GetParam().times) {
        SCOPED_TRACE(time);
        ASSERT_EQ(consume(std::string(GetParam().name) + ':' + std::to_string(time)), killed)
            << output();
    }
    ASSERT_EQ(consume(), 0) << output();
    inbox_party judge(folder_.path() / "ship.db");
    EXPECT_EQ(judge.written(), wanted());
}

class KafkaProcessorCrash : public KafkaCrash {};

INSTANTIATE_TEST_SUITE_P(
    Points,
    KafkaProcessorCrash,
    testing::Values(
        point{"consumer.received", {1}},
        point{"processor.made", {2}},
        point{"kafka.begun", {1}},
        point{"kafka.half_produced", {2}},
        point{"kafka.produced", {1}},
        point{"kafka.offsets_sent", {2}},
        point{"kafka.commit", {1}},
        point{"kafka.committed", {2}},
        point{"consumer.handled", {1}}
    ),
    &name_of
);

TEST_P(KafkaProcessorCrash, TheNextGoesOnAndOfEachRecordOneIsMade) {
    const std::string to = fresh_name("to");
    broker_.create_topic(to, partitions);
    for (const int time : GetParam().times) {
        const std::string point = std::string(GetParam().name) + ':' + std::to_string(time);
        ASSERT_EQ(run(command(point, "process", to)), killed) << output();
    }
    const child_program last(command("NONE:1", "process", to), folder_.path() / "output");
    const kafka_reader reader(broker_.address());
    EXPECT_TRUE(eventually([&] { return reader.read(to).size() >= std::size_t{records}; }, 30s))
        << output();
    std::map<std::string, std::vector<std::string>> seen;
    for (const kafka_seen& each : reader.read_settled(to))
        seen[each.key.value()].push_back(each.value.value());
    EXPECT_EQ(seen, wanted());
}

}  // namespace
}  // namespace mortise::test::kafka_crash_test
