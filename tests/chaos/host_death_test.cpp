// SPDX-License-Identifier: BSL-1.0
// Real processes at SQL servers: the death of one is seen by its neighbours on the host, long
// before its TTL has passed.

#include "chaos/chaos_store.hpp"
#include "chaos/chaos_test.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// How many sessions watch that process: the accepted connections of its socket.
std::size_t watchers_of(pid_t process) {
    std::set<std::string> own;
    std::error_code gone;
    const auto folder = "/proc/" + std::to_string(process) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(folder, gone))
        own.insert(std::filesystem::read_symlink(each, gone).string());
    std::ifstream sockets("/proc/net/unix");
    std::size_t count = 0;
    for (std::string line; std::getline(sockets, line);) {
        std::istringstream words(line);
        std::string number, references, protocol, flags, type, state, inode, path;
        words >> number >> references >> protocol >> flags >> type >> state >> inode >> path;
        const bool connected = state == "03";
        if (connected && path.rfind("@mortise.", 0) == 0 && own.contains("socket:[" + inode + "]"))
            ++count;
    }
    return count;
}

class HostDeath : public testing::TestWithParam<chaos_store_factory> {
protected:
    static constexpr auto ttl = 9s;
    // Far from the TTL, and from what a busy machine needs.
    static constexpr auto at_once = ttl / 3;

    const std::unique_ptr<chaos_store> store_ = GetParam()();
    const std::unique_ptr<actor_process> holder_ = store_->start(ttl);
    const std::unique_ptr<actor_process> waiter_ = store_->start(ttl);
};

TEST_P(HostDeath, OfTheHolderGivesTheLockToTheNextAtOnce) {
    const auto first = holder_->acquire("door");
    waiter_->tell("acquire door");
    ASSERT_TRUE(eventually([&] { return watchers_of(holder_->pid()) != 0; }, 60s));
    ASSERT_TRUE(eventually([&] { return store_->parties("door") == 2; }, 30s));
    holder_->send(SIGSTOP);
    EXPECT_FALSE(waiter_->hear("held door", 200ms)) << "who is stopped lives";
    holder_->kill();
    const auto line = waiter_->hear("held door", at_once);
    ASSERT_TRUE(line);
    EXPECT_GT(token_in(*line), first);
    waiter_->tell("stop");
    EXPECT_TRUE(waiter_->hear("stopped"));
    EXPECT_TRUE(eventually([&] { return store_->empty(); }));
}

#ifdef MORTISE_STORE_AT_POSTGRES
INSTANTIATE_TEST_SUITE_P(Postgres, HostDeath, testing::Values(&make_postgres_chaos_store));
#endif
#ifdef MORTISE_STORE_AT_MARIADB
INSTANTIATE_TEST_SUITE_P(Mysql, HostDeath, testing::Values(&make_mysql_chaos_store));
#endif
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HostDeath);

}  // namespace
}  // namespace mortise::test
