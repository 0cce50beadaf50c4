// SPDX-License-Identifier: BSL-1.0
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace mortise::test::redis_server_test {

using namespace std::chrono_literals;

bool refuses(std::uint16_t port) {
    try {
        const raw_redis connected(port);
        return false;
    } catch (const std::system_error& error) {
        return error.code() == std::errc::connection_refused;
    }
}

TEST(RedisServer, IsAloneWithItsData) {
    const redis_server one;
    const redis_server other;
    EXPECT_NE(one.port(), other.port());
    one.connect().command({"SET", "k", "v"});
    EXPECT_EQ(one.connect().command({"DBSIZE"}).number, 1);
    EXPECT_EQ(other.connect().command({"DBSIZE"}).number, 0);
}

TEST(RedisServer, ComesBackAtItsPortWithNothing) {
    redis_server server;
    const std::uint16_t port = server.port();
    for (const bool killed : {true, false}) {
        server.connect().command({"SET", "k", "v"});
        killed ? server.kill() : server.stop();
        EXPECT_FALSE(server.runs());
        EXPECT_TRUE(refuses(port));
        server.start();
        EXPECT_EQ(server.port(), port);
        EXPECT_EQ(server.connect().command({"DBSIZE"}).number, 0);
    }
}

TEST(RedisServer, KeepsWhatItWasToldToKeep) {
    redis_server server({"appendonly yes", "appendfsync always"});
    server.connect().command({"SET", "k", "v"});
    server.kill();
    server.start();
    EXPECT_TRUE(server.connect().command({"GET", "k"}).is("v"));
    server.kill();
    server.start(redis_server::data::lost);
    EXPECT_TRUE(server.connect().command({"GET", "k"}).is_null());
}

TEST(RedisServer, DoesNothingWhileItIsSuspended) {
    redis_server server;
    raw_redis redis(server.port(), 50ms);
    server.suspend();
    redis.send({"INCR", "k"});
    EXPECT_THROW(static_cast<void>(redis.receive()), std::system_error);
    server.resume();
    EXPECT_EQ(raw_redis(server.port()).command({"INCR", "k"}).number, 2);
}

TEST(RedisServer, KnowsItsUsers) {
    const redis_server server({"requirepass secret", "user alice on >wonder ~a:* +get +set +auth"});
    raw_redis redis = server.connect();
    EXPECT_TRUE(redis.try_command({"GET", "a:1"}).text.starts_with("NOAUTH"));
    EXPECT_TRUE(redis.try_command({"AUTH", "alice", "land"}).text.starts_with("WRONGPASS"));
    redis.command({"AUTH", "alice", "wonder"});
    redis.command({"SET", "a:1", "v"});
    EXPECT_TRUE(redis.try_command({"SET", "b:1", "v"}).text.starts_with("NOPERM"));
    redis.command({"AUTH", "secret"});
    EXPECT_EQ(redis.command({"DBSIZE"}).number, 1);
}

TEST(RedisServer, IsFollowedByItsReplica) {
    const redis_server primary;
    const redis_server replica({replica_of(primary)});
    raw_redis redis = primary.connect();
    await_replicas(redis, 1);
    redis.command({"SET", "k", "v"});
    EXPECT_EQ(redis.command({"WAIT", "1", "10000"}).number, 1);
    EXPECT_TRUE(replica.connect().command({"GET", "k"}).is("v"));
    EXPECT_TRUE(replica.connect().try_command({"SET", "k", "w"}).text.starts_with("READONLY"));
}

TEST(RedisServer, MayBeDebugged) {
    EXPECT_TRUE(shared_redis().connect().command({"DEBUG", "SLEEP", "0"}).is("OK"));
}

TEST(RedisServer, SaysWhyItDoesNotStart) {
    try {
        const redis_server server({"no-such-directive yes"});
        ADD_FAILURE() << "it has started";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("no-such-directive"), std::string::npos);
    }
}

TEST(RedisServer, IsSharedByTheWholeProgram) {
    EXPECT_EQ(&shared_redis(), &shared_redis());
    EXPECT_TRUE(shared_redis().runs());
}

TEST(RedisServer, DiesWithTheTest) {
    const scratch_folder folder;
    const auto file = folder.path() / "server";
    const pid_t tester = ::fork();
    if (tester == 0) {
        const redis_server server;
        std::ofstream(file) << server.port() << ' ' << server.folder().string() << std::endl;
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(tester, &status, 0), tester);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    std::uint16_t port = 0;
    std::string left_behind;
    std::ifstream(file) >> port >> left_behind;
    ASSERT_NE(left_behind, "");
    EXPECT_TRUE(eventually([port] { return refuses(port); }));
    std::filesystem::remove_all(left_behind);
}

TEST(PortReservation, IsForOneOnly) {
    const port_reservation one;
    const port_reservation other;
    EXPECT_NE(one.port(), other.port());
    EXPECT_TRUE(refuses(one.port()));
}

}  // namespace mortise::test::redis_server_test
