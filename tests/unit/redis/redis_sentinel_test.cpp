// SPDX-License-Identifier: BSL-1.0
// A sentinel that cannot tell anything does not keep the others from being heard.
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace mortise::test::redis_sentinel_test {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

constexpr const char* primary_name = "mortise-test";
constexpr auto time_to_connect = 1'500ms;

class RedisSentinel : public testing::Test {
protected:
    static redis_store_config asking(std::initializer_list<std::uint16_t> sentinels) {
        redis_store_config config;
        for (const auto port : sentinels)
            config.sentinels.emplace_back("127.0.0.1", port);
        config.primary_name = primary_name;
        config.connect_max = time_to_connect;
        config.assume_new = true;
        return config;
    }

    std::string monitor() const {
        return "sentinel monitor " + std::string(primary_name) + " 127.0.0.1 " +
               std::to_string(server_.port()) + " 1";
    }

    static void expect_lock_in_time(const redis_store_config& config) {
        redis_user user(config, 600ms);
        const auto begun = clock::now();
        const auto got = user.acquire("door");
        EXPECT_FALSE(got.code) << got.code.message() << ": " << user.explain();
        EXPECT_LT(got.at - begun, time_to_connect) << "it was not the first try";
    }

    redis_server server_;
    redis_server talking_{{monitor()}, redis_server::kind::sentinel};
};

TEST_F(RedisSentinel, ThatAcceptsAndSaysNothingIsPassedOverInTime) {
    asio::io_context context;
    // The system accepts for it.
    tcp::acceptor silent(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    expect_lock_in_time(asking({silent.local_endpoint().port(), talking_.port()}));
}

TEST_F(RedisSentinel, ThatIsStoppedIsPassedOverInTime) {
    redis_server stopped({monitor()}, redis_server::kind::sentinel);
    stopped.suspend();
    expect_lock_in_time(asking({stopped.port(), talking_.port()}));
    stopped.resume();
}

TEST_F(RedisSentinel, ThatIsSilentAloneIsNamed) {
    asio::io_context context;
    tcp::acceptor silent(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const auto port = silent.local_endpoint().port();
    redis_user user(asking({port}), 600ms);
    const auto got = user.acquire("door", 2s);
    EXPECT_TRUE(got.code == errc::store_unavailable || got.code == errc::busy)
        << got.code.message();
    const auto text = user.explain();
    EXPECT_NE(text.find("sentinel 127.0.0.1:" + std::to_string(port)), std::string::npos) << text;
    EXPECT_NE(text.find("does not greet in time"), std::string::npos) << text;
}

}  // namespace
}  // namespace mortise::test::redis_sentinel_test
