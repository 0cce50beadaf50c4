// SPDX-License-Identifier: BSL-1.0
// A process that is out of file descriptors is told so, whichever call is the first to fail.
#include "mortise/db/sqlite.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store/redis.hpp"
#include "support/denied_call.hpp"
#include "support/redis_server.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/syscall.h>

#include <iostream>
#include <string>
#include <vector>

namespace mortise::test::descriptors_test {
namespace {

bool says_so(const error_code& code, const std::string& text) {
    const bool good = code == errc::too_many_files && text.find("ulimit -n") != std::string::npos;
    if (!good)
        std::cerr << code.message() << ": " << text << '\n';
    return good;
}

struct denied_opening {
    const char* of;
    std::vector<denied_call> calls;
};

class Descriptors : public testing::TestWithParam<denied_opening> {};

TEST_P(Descriptors, AStoreThatCannotOpenAFileSaysWhy) {
    const store_folder folder;
    const still_clock time;
    EXPECT_TRUE(in_dying_child([&] {
        state_user user(folder.config(), time);
        for (const auto& call : GetParam().calls) {
            if (!deny(call))
                return false;
        }
        const auto code = user.open();
        return says_so(code, user.state.explain());
    }));
}

constexpr std::uint32_t usual = O_CLOEXEC | O_NOFOLLOW;

INSTANTIATE_TEST_SUITE_P(
    Sqlite,
    Descriptors,
    testing::Values(
        denied_opening{"Anything", {{SYS_openat}}},
        denied_opening{"SideFolder", {{SYS_openat, O_RDONLY | O_DIRECTORY | usual}}},
        denied_opening{"Lock", {{SYS_openat, O_RDWR | O_CREAT | usual, 0600}}},
        denied_opening{
            "Database",
            {{SYS_openat, O_RDWR | O_CREAT | usual, 0644}, {SYS_openat, O_RDONLY | usual}}},
        denied_opening{"Heartbeats", {{SYS_openat, O_RDWR | O_CREAT | O_EXCL | usual, 0600}}},
        denied_opening{"Sockets", {{SYS_socket}}}
    ),
    [](const auto& of) { return std::string(of.param.of); }
);

TEST(DescriptorsOfASession, OneThatCannotOpenItsDatabaseSaysSo) {
    const store_folder folder;
    EXPECT_TRUE(in_dying_child([&] {
        asio::io_context context;
        if (!deny({SYS_openat}))
            return false;
        try {
            db::sqlite_config config;
            config.path = folder.database();
            const db::sqlite session(context.get_executor(), config);
            return false;
        } catch (const error& why) {
            return says_so(why.code(), why.what());
        }
    }));
}

TEST(DescriptorsOfAClient, OneThatHasNoTimerSaysSo) {
    EXPECT_TRUE(in_dying_child([] {
        asio::io_context context;
        auto store = open_store("memory:");
        if (!deny({SYS_timerfd_create}))
            return false;
        try {
            const lock_client client(context.get_executor(), std::move(store));
            return false;
        } catch (const error& why) {
            return says_so(why.code(), why.what());
        }
    }));
}

TEST(DescriptorsOfAClient, OneThatGetsNoConnectionSaysSo) {
    redis_store_config config;
    config.server.port = shared_redis().port();
    config.prefix = "descriptors:";
    EXPECT_TRUE(in_dying_child([&] {
        asio::io_context context;
        lock_client client(context.get_executor(), make_redis_store(config));
        if (!deny({SYS_socket}))
            return false;
        error_code refused;
        client.async_acquire("door", lock_options(), [&](error_code code, lease) {
            refused = code;
            client.async_stop([](error_code) {});
        });
        context.run();
        return says_so(refused, client.explain());
    }));
}

}  // namespace
}  // namespace mortise::test::descriptors_test
