// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mortise/store/redlock.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace mortise::redlock_config_test {
namespace {

redlock_store_config of_three() {
    redlock_store_config config;
    for (const char* const host : {"a", "b", "c"})
        config.servers.emplace_back(host, 6'379);
    return config;
}

TEST(RedlockConfig, SaysWhatTheStoreDoesNot) {
    const auto traits = make_redlock_store(of_three())->traits();
    EXPECT_EQ(traits.scheme, "redlock");
    EXPECT_TRUE(traits.exclusive && traits.push && traits.quarantine && traits.sessions);
    EXPECT_FALSE(traits.shared || traits.permits || traits.hold_max);
    EXPECT_FALSE(traits.records || traits.fair);
    EXPECT_NE(traits.strength, token_strength::strict) << "nobody was asked yet";
}

void expect_bad_config(
    const std::function<void(redlock_store_config&)>& change, const std::string& remedy
) {
    auto config = of_three();
    change(config);
    try {
        make_redlock_store(config);
        ADD_FAILURE() << "took what needs: " << remedy;
    } catch (const error& wrong) {
        EXPECT_EQ(wrong.code(), errc::bad_config);
        EXPECT_NE(wrong.remedy().find(remedy), std::string::npos) << wrong.what();
        EXPECT_FALSE(wrong.value().empty());
    }
}

TEST(RedlockConfig, HasAnOddNumberOfDifferentServers) {
    expect_bad_config([](auto& config) { config.servers.clear(); }, "3 or more");
    expect_bad_config([](auto& config) { config.servers.pop_back(); }, "3 or more");
    expect_bad_config([](auto& config) { config.servers.emplace_back("d", 1); }, "odd");
    expect_bad_config([](auto& config) { config.servers[2] = config.servers[0]; }, "once");
    expect_bad_config(
        [](auto& config) {
            for (std::uint16_t port = 1; port <= 8; ++port)
                config.servers.emplace_back("d", port);
        },
        "9 at most"
    );
    auto five = of_three();
    five.servers.emplace_back("a", 6'380);
    five.servers.emplace_back("a", 6'381);
    EXPECT_TRUE(make_redlock_store(five));
}

TEST(RedlockConfig, IsHeldToTheRulesOfEachServer) {
    expect_bad_config([](auto& config) { config.servers[1].port = 0; }, "65535");
    expect_bad_config([](auto& config) { config.servers[1].host = ""; }, "host");
    expect_bad_config([](auto& config) { config.prefix = "{"; }, "braces");
    expect_bad_config([](auto& config) { config.user = "me"; }, "password");
    expect_bad_config([](auto& config) { config.domain = "a#b"; }, "");
    expect_bad_config([](auto& config) { config.client_name = "a b"; }, "printable");
    expect_bad_config([](auto& config) { config.ca_file = "/nowhere"; }, "read");
    expect_bad_config(
        [](auto& config) { config.longest_ttl = std::chrono::milliseconds(0); }, "one day"
    );
    expect_bad_config([](auto& config) { config.connect_max = std::chrono::hours(25); }, "one day");
}

}  // namespace
}  // namespace mortise::redlock_config_test
