// SPDX-License-Identifier: BSL-1.0
// Sends the same commands to the model and to a real server: the replies must be equal.
#include "redis_model/random_commands.hpp"
#include "redis_model/twin.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using redis_model::model_redis;
using store_detail::redis_command;

std::int64_t real_time() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// Runs commands and returns the reply of each. ARGV holds them, each after the count of its words.
constexpr const char* run_all = R"lua(
    local said, at = {}, 1
    while at <= #ARGV do
        local words = tonumber(ARGV[at])
        said[#said + 1] = redis.pcall(unpack(ARGV, at + 1, at + words))
        at = at + words + 1
    end
    return said
)lua";

class RedisModel : public testing::TestWithParam<std::uint64_t> {
protected:
    RedisModel() {
        for (const char* const channel : {"c0", "c1"})
            first_.subscribe(channel);
        second_.subscribe("c1");
        tracker_.execute({"CLIENT", "TRACKING", "ON", "BCAST"});
        picky_.execute(
            {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "h", "PREFIX", "z0", "NOLOOP"}
        );
    }

    bool all_heard_the_same() {
        return user_.heard_the_same() && first_.heard_the_same() && second_.heard_the_same() &&
               tracker_.heard_the_same() && picky_.heard_the_same();
    }

    /// Runs some commands within one script.
    void run_in_script(random_commands& from) {
        std::vector<redis_command> commands(1 + from.pick(6));
        redis_command script{"EVAL", run_all, "0"};
        for (auto& each : commands) {
            each = from.next();
            script.push_back(std::to_string(each.size()));
            script.insert(script.end(), each.begin(), each.end());
        }
        const auto both = user_.execute(script);
        ASSERT_EQ(both.real.items.size(), commands.size()) << shown(both.real);
        ASSERT_EQ(both.model.items.size(), commands.size()) << shown(both.model);
        for (std::size_t i = 0; i < commands.size(); ++i) {
            const auto real = settled(commands[i], both.real.items[i]);
            const auto model = settled(commands[i], both.model.items[i]);
            ASSERT_EQ(shown(real), shown(model)) << shown_words(commands[i]) << "in a script";
        }
    }

    void compare_all_keys() {
        const auto names = user_.execute({"KEYS", "*"}).real;
        ASSERT_TRUE(user_.agree({"KEYS", "*"}));
        for (const auto& each : names.items) {
            for (const auto& look : std::vector<redis_command>{
                     {"TYPE"},
                     {"PTTL"},
                     {"GET"},
                     {"HGETALL"},
                     {"SMEMBERS"},
                     {"LRANGE", "0", "-1"},
                     {"ZRANGE", "0", "-1", "WITHSCORES"}}) {
                redis_command words = look;
                words.insert(words.begin() + 1, each.text);
                ASSERT_TRUE(user_.agree(words));
            }
        }
    }

    static std::string shown_words(const redis_command& words) {
        std::string text;
        for (const auto& each : words)
            text += each + " ";
        return text;
    }

    redis_server server_;
    model_redis model_{&real_time};
    twin user_{server_.port(), model_};
    twin first_{server_.port(), model_};
    twin second_{server_.port(), model_};
    twin tracker_{server_.port(), model_};
    twin picky_{server_.port(), model_};
};

TEST_P(RedisModel, SaysWhatARealServerSays) {
    random_commands from(GetParam());
    constexpr int rounds = 2'000;
    for (int i = 0; i < rounds; ++i) {
        if (from.pick(4) == 0)
            run_in_script(from);
        else
            user_.agree(from.next());
        if (HasFailure())
            break;
        ASSERT_TRUE(all_heard_the_same());
    }
    ASSERT_FALSE(HasFailure()) << "seed " << GetParam();
    compare_all_keys();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RedisModel, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace mortise::test
