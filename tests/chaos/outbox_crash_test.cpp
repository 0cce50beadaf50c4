// SPDX-License-Identifier: BSL-1.0
// A shop and its shippers, killed at each of their named points. The judge reads their tables and
// the files between them.
#include "chaos/looked_at_file.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::test::outbox_crash_test {
namespace {

using namespace std::chrono_literals;

constexpr int killed = 128 + SIGKILL;
using numbers = std::vector<std::int64_t>;

class OutboxCrash : public testing::Test {
protected:
    std::vector<std::string>
    command(const std::vector<std::string>& words, const std::vector<std::string>& settings) const {
        std::vector<std::string> result{"env"};
        result.insert(result.end(), settings.begin(), settings.end());
        result.emplace_back(built_program("tests/outbox_actor"));
        result.push_back(folder_.path());
        result.insert(result.end(), words.begin(), words.end());
        return result;
    }
    int run(const std::vector<std::string>& words, const std::vector<std::string>& settings = {}) {
        child_program actor(command(words, settings), output());
        return actor.wait(60s).value_or(-1);
    }
    static std::string crash_at(const std::string& point, int time) {
        return "MORTISE_CRASH_AT=" + point + ':' + std::to_string(time);
    }
    std::filesystem::path output() const { return folder_.path() / "output"; }
    std::string printed() const {
        std::ifstream file(output());
        return {std::istreambuf_iterator<char>(file), {}};
    }
    numbers column(const char* database, const char* sql) const {
        const looked_at_file file(folder_.path() / database);
        auto on = file.connect();
        numbers found;
        auto row = on.query(sql);
        while (row.step())
            found.push_back(row.integer(0));
        return found;
    }
    /// The sent messages of all shards by key, in their order.
    std::map<std::string, numbers> sent(const char* where) const {
        std::map<std::string, numbers> found;
        for (std::uint32_t shard = 0; shard < 4; ++shard) {
            for (const auto& one : outbox::read_message_files(folder_.path() / where, shard, 0))
                found[*one.message.key].push_back(std::stoll(*one.message.payload));
        }
        return found;
    }
    /// Checks that each sale was sent once, and that each key kept its order.
    void expect_told() const {
        std::map<std::string, numbers> wanted;
        const looked_at_file file(folder_.path() / "shop.db");
        auto on = file.connect();
        auto row = on.query("SELECT key, n FROM sale ORDER BY n");
        while (row.step())
            wanted[row.text(0)].push_back(row.integer(1));
        EXPECT_FALSE(wanted.empty());
        EXPECT_EQ(sent("events"), wanted);
    }
    /// Checks that each sale was either shipped once or taken back once.
    void expect_shipped() const {
        std::multiset<std::int64_t> shipped;
        for (const auto n : column("ship.db", "SELECT n FROM shipped"))
            shipped.insert(n);
        std::multiset<std::int64_t> wanted;
        for (const auto n : column("shop.db", "SELECT n FROM sale WHERE n % 10 <> 3"))
            wanted.insert(n);
        EXPECT_EQ(shipped, wanted);
        EXPECT_EQ(
            column("shop.db", "SELECT n FROM sale WHERE taken_back <> (n % 10 = 3)"), numbers()
        );
        EXPECT_FALSE(column("shop.db", "SELECT n FROM sale WHERE taken_back = 1").empty());
    }
    void carry_on() {
        // The crashed one may have sold too few for any to be taken back.
        ASSERT_EQ(run({"sell", "count=10"}), 0) << printed();
        expect_told();
        ASSERT_EQ(run({"ship"}), 0) << printed();
        ASSERT_EQ(run({"take_back"}), 0) << printed();
        expect_shipped();
    }

    const scratch_folder folder_;
};

struct point {
    const char* name;
    const char* command;
    std::vector<int> times;
};

void PrintTo(const point& value, std::ostream* to) {
    *to << value.name;
}

class OutboxCrashAt : public OutboxCrash, public testing::WithParamInterface<point> {};

INSTANTIATE_TEST_SUITE_P(
    Points,
    OutboxCrashAt,
    testing::Values(
        point{"shop.appended", "sell", {1, 50}},
        point{"relay.taken", "sell", {1, 3}},
        point{"relay.opened", "sell", {1, 4}},
        point{"relay.read", "sell", {1, 6, 30}},
        point{"file_sink.written", "sell", {5, 12, 30}},
        point{"file_sink.linked", "sell", {1, 3, 8}},
        point{"file_sink.renamed", "sell", {1, 2, 7}},
        point{"relay.published", "sell", {1, 2, 20}},
        point{"relay.purged", "sell", {1, 3}},
        point{"inbox.handled", "ship", {1, 2, 10}},
        point{"inbox.retried", "ship", {1, 2}},
        point{"relay.published", "ship", {1, 2}},
        point{"file_sink.written", "ship", {5}},
        point{"inbox.handled", "take_back", {1, 2}}
    ),
    [](const auto& each) {
        std::string name = std::string(each.param.command) + '_' + each.param.name;
        for (auto& letter : name)
            letter = letter == '.' ? '_' : letter;
        return name;
    }
);

TEST_P(OutboxCrashAt, EachMessageComesOnceAndHasItsEffectOnce) {
    const std::string command = GetParam().command;
    const bool sells = command == "sell";
    if (!sells) {
        ASSERT_EQ(run({"sell", "count=300"}), 0) << printed();
    }
    if (command == "take_back") {
        ASSERT_EQ(run({"ship"}), 0) << printed();
    }
    for (const int time : GetParam().times) {
        SCOPED_TRACE(time);
        const auto crash = crash_at(GetParam().name, time);
        if (sells)
            ASSERT_EQ(run({"sell", "count=120"}, {crash}), killed) << printed();
        else
            ASSERT_EQ(run({command}, {crash}), killed) << printed();
    }
    carry_on();
}

TEST_F(OutboxCrash, SeveralRelaysAreKilledOneAfterTheOther) {
    const std::string locks = "locks=sqlite:" + (folder_.path() / "locks.db").string();
    int deaths = 0;
    // The process that must die may own too few shards to reach the point, above all if the other
    // one came first. Then it gets another round.
    for (int round = 0; round < 4 || (deaths == 0 && round < 20); ++round) {
        const std::string point = crash_at("relay.published", round < 4 ? 2 + 4 * round : 1);
        std::vector<std::unique_ptr<child_program>> both(2);
        for (const int index : {round % 2, 1 - round % 2}) {
            const auto crash = index == 1 ? std::vector{point} : std::vector<std::string>();
            both[static_cast<std::size_t>(index)] = std::make_unique<child_program>(
                command({"sell", "count=200", locks}, crash), output()
            );
        }
        const int exit_code = both[1]->wait(60s).value_or(-1);
        EXPECT_TRUE(exit_code == killed || exit_code == 0) << exit_code << ' ' << printed();
        deaths += exit_code == killed ? 1 : 0;
        EXPECT_EQ(both[0]->wait(60s).value_or(-1), 0) << printed();
    }
    EXPECT_GE(deaths, 1);
    carry_on();
}

}  // namespace
}  // namespace mortise::test::outbox_crash_test
