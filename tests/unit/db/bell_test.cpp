// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/error.hpp"
#include "support/scratch_folder.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

namespace mortise::test::bell_test {
namespace {

using namespace std::chrono_literals;

/// Databases that nobody has made: a bell needs the folder only.
class Bell : public testing::Test {
protected:
    auto counting(int& count) {
        return [&count] { ++count; };
    }

    /// Runs what comes until so much was heard.
    bool hears(const int& count, int wanted) {
        const auto end = clock::now() + 20s;
        while (count < wanted && clock::now() < end) {
            context_.restart();
            context_.run_one_for(10ms);
        }
        return count >= wanted;
    }

    std::size_t sockets() const {
        const std::filesystem::path folder = path_.native() + ".bell";
        const std::filesystem::directory_iterator all(folder);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    const scratch_folder folder_;
    const std::filesystem::path path_ = folder_.path() / "shop.db";
    asio::io_context context_{1};
    int first_ = 0;
    int second_ = 0;
};

TEST_F(Bell, IsRungInVainWhereNobodyListens) {
    EXPECT_EQ(db::bell::ring(path_), 0u);
    EXPECT_FALSE(std::filesystem::exists(path_.native() + ".bell"));
}

TEST_F(Bell, IsHeardByAllThatListen) {
    const db::bell one(context_.get_executor(), path_, counting(first_));
    const db::bell two(context_.get_executor(), path_, counting(second_));
    int other = 0;
    const db::bell far(context_.get_executor(), folder_.path() / "other.db", counting(other));
    EXPECT_EQ(db::bell::ring(path_), 2u);
    EXPECT_TRUE(hears(first_, 1));
    EXPECT_TRUE(hears(second_, 1));
    EXPECT_EQ(db::bell::ring(path_), 2u);
    EXPECT_TRUE(hears(first_, 2)) << "again";
    EXPECT_EQ(other, 0);
}

TEST_F(Bell, BeatsWhereNobodyRingsIfItIsToldTo) {
    const db::bell one(
        context_.get_executor(), path_, counting(first_), db::bell_pulse(1ms, counting(second_))
    );
    EXPECT_TRUE(hears(second_, 3));
    EXPECT_EQ(first_, 0) << "nobody has rung";
    EXPECT_EQ(db::bell::ring(path_), 1u);
    EXPECT_TRUE(hears(first_, 1));
}

TEST_F(Bell, IsHeardHoweverThePathIsWritten) {
    std::filesystem::create_directory(folder_.path() / "real");
    const auto real = folder_.path() / "real" / "shop.db";
    std::ofstream(real).close();
    std::filesystem::create_symlink("real", folder_.path() / "folder");
    std::filesystem::create_symlink("folder/shop.db", folder_.path() / "current.db");
    const auto link = folder_.path() / "current.db";
    const auto detour = folder_.path() / "real" / ".." / "folder" / "shop.db";
    const db::bell one(context_.get_executor(), link, counting(first_));
    const db::bell two(context_.get_executor(), detour, counting(second_));
    int times = 0;
    for (const auto& path : {real, link, detour}) {
        ++times;
        EXPECT_EQ(db::bell::ring(path), 2u) << path;
        EXPECT_TRUE(hears(first_, times));
        EXPECT_TRUE(hears(second_, times));
    }
}

TEST_F(Bell, IsHeardFromAnotherProcess) {
    const db::bell one(context_.get_executor(), path_, counting(first_));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        ::_exit(db::bell::ring(path_) == 1 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(hears(first_, 1));
    EXPECT_EQ(sockets(), 1u) << "the end of the child is not that of the listener";
}

TEST_F(Bell, IsHeardOnceIfItIsRungManyTimesAtOnce) {
    const db::bell one(context_.get_executor(), path_, counting(first_));
    constexpr int many = 1'000;
    for (int i = 0; i < many; ++i)
        EXPECT_EQ(db::bell::ring(path_), 1u) << "nobody waits for who listens";
    EXPECT_TRUE(hears(first_, 1));
    EXPECT_LT(first_, many / 10);
    const int before = first_;
    EXPECT_EQ(db::bell::ring(path_), 1u);
    EXPECT_TRUE(hears(first_, before + 1));
}

TEST_F(Bell, DoesNotKeepAContextAtWork) {
    const db::bell one(context_.get_executor(), path_, counting(first_));
    EXPECT_EQ(context_.run(), 0u) << "it returns";
}

TEST_F(Bell, IsSilentAfterItsEnd) {
    std::optional<db::bell> one;
    one.emplace(context_.get_executor(), path_, counting(first_));
    EXPECT_EQ(sockets(), 1u);
    EXPECT_EQ(db::bell::ring(path_), 1u);
    one.reset();
    context_.restart();
    context_.run();
    EXPECT_EQ(first_, 0) << "also of what was rung before";
    EXPECT_EQ(sockets(), 0u);
    EXPECT_EQ(db::bell::ring(path_), 0u);
}

TEST_F(Bell, OutlivesItsContext) {
    std::optional<asio::io_context> brief(1);
    const db::bell one(brief->get_executor(), path_, counting(first_));
    EXPECT_EQ(db::bell::ring(path_), 1u);
    brief.reset();
    EXPECT_EQ(db::bell::ring(path_), 0u);
    EXPECT_EQ(first_, 0);
}

TEST_F(Bell, RemovesTheSocketOfOneThatDied) {
    const db::bell one(context_.get_executor(), path_, counting(first_));
    const std::string dead = path_.native() + ".bell/" + std::string(32, 'd');
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(dead.size(), sizeof address.sun_path);
    dead.copy(address.sun_path, dead.size());
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(sockets(), 2u);
    EXPECT_EQ(db::bell::ring(path_), 2u) << "it listens";
    ::close(fd);
    EXPECT_EQ(db::bell::ring(path_), 1u);
    EXPECT_EQ(sockets(), 1u);
}

TEST_F(Bell, HangsInAFolderWithALongName) {
    const auto deep = folder_.path() / std::string(200, 'x');
    std::filesystem::create_directory(deep);
    const db::bell one(context_.get_executor(), deep / "shop.db", counting(first_));
    EXPECT_EQ(db::bell::ring(deep / "shop.db"), 1u);
    EXPECT_TRUE(hears(first_, 1));
}

TEST_F(Bell, SaysSoIfItCannotListen) {
    const auto nowhere = folder_.path() / "no such folder" / "shop.db";
    try {
        const db::bell one(context_.get_executor(), nowhere, counting(first_));
        FAIL() << "it listens nowhere";
    } catch (const error& failed) {
        EXPECT_EQ(failed.code(), errc::not_writable);
    }
}

}  // namespace
}  // namespace mortise::test::bell_test
