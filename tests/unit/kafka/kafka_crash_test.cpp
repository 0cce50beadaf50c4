// SPDX-License-Identifier: BSL-1.0
// A consumer that is killed at each of its named points, and the next of its group.
#include "mortise/db/sqlite.hpp"
#include "support/child_program.hpp"
#include "support/kafka_broker.hpp"
#include "support/scratch_folder.hpp"
#include "unit/kafka/inbox_party.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
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

void PrintTo(const point& what, std::ostream* to) {
    *to << what.name;
}

class KafkaCrash : public testing::TestWithParam<point> {
protected:
    KafkaCrash() {
        broker_.create_topic(topic_, partitions);
        const raw_kafka by = open_raw_kafka(RD_KAFKA_PRODUCER, broker_.address());
        for (int i = 0; i < records; ++i)
            raw_kafka_produce(
                by, topic_, i % partitions, std::to_string(i % partitions), std::to_string(i)
            );
    }

    int run(const std::string& crash_at = "NONE:1") const {
        std::vector<std::string> command{"env", "MORTISE_CRASH_AT=" + crash_at};
        command.insert(
            command.end(),
            {MORTISE_KAFKA_ACTOR,
             broker_.address(),
             group_,
             topic_,
             (folder_.path() / "ship.db").string(),
             std::to_string(records)}
        );
        child_program actor(command, folder_.path() / "output");
        return actor.wait(60s).value_or(-1);
    }
    std::string said() const {
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
    [](const auto& each) {
        std::string name = each.param.name;
        for (auto& letter : name)
            letter = letter == '.' ? '_' : letter;
        return name;
    }
);

TEST_P(KafkaCrash, TheNextGoesOnAndEachMessageHasItsEffectOnce) {
    for (const int time : GetParam().times) {
        SCOPED_TRACE(time);
        ASSERT_EQ(run(std::string(GetParam().name) + ':' + std::to_string(time)), killed) << said();
    }
    ASSERT_EQ(run(), 0) << said();
    std::map<std::string, std::vector<std::string>> wanted;
    for (int i = 0; i < records; ++i)
        wanted[std::to_string(i % partitions)].push_back(std::to_string(i));
    inbox_party judge(folder_.path() / "ship.db");
    EXPECT_EQ(judge.written(), wanted);
}

}  // namespace
}  // namespace mortise::test::kafka_crash_test
