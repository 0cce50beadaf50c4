// SPDX-License-Identifier: BSL-1.0
// Real processes that are killed: a waiter has the lock at once, by the end of a socket alone.
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"
#include "unit/sqlite/store_user.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mortise::test::process_death_test {
namespace {

using namespace std::chrono_literals;

constexpr auto soon = 10s;  // generous for a slow machine under sanitizers, small against the TTL
constexpr auto ttl = 60s;

/// A process with a session, that asks for locks and then does nothing more: neither heartbeats nor
/// reading of its sockets, which are open as long as it lives.
class idle_process {
public:
    idle_process(const sqlite_store_config& config, const std::vector<std::string>& names) {
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        pid_ = ::fork();
        EXPECT_GE(pid_, 0);
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::close(ready[0]);
            ::_exit(run(config, names, ready[1]));
        }
        ::close(ready[1]);
        char answer = 0;
        EXPECT_EQ(::read(ready[0], &answer, 1), 1);
        EXPECT_EQ(answer, 'r');
        ::close(ready[0]);
    }
    ~idle_process() { kill(); }
    idle_process(const idle_process&) = delete;
    idle_process& operator=(const idle_process&) = delete;

    void stop() const { ::kill(pid_, SIGSTOP); }
    void kill() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    static int
    run(const sqlite_store_config& config, const std::vector<std::string>& names, int ready) {
        asio::io_context context;
        store_detail::sqlite_state state(
            config, coro::make_boot_time_source(context.get_executor())
        );
        session_start start;
        start.id = random_id::draw();
        start.generation = 1;
        start.ttl = ttl;
        const auto opened = state.resume(start);
        lock_request wish;
        bool good = !opened.code;
        for (const auto& name : names) {
            ++wish.id;
            wish.name = name;
            store_detail::request_operation asking(wish);
            store_detail::lock_operation* const one = &asking;
            state.perform(std::span(&one, 1));
            good = good && !asking.out.code;
        }
        if (::write(ready, good ? "r" : "x", 1) != 1)
            return 1;
        for (;;)
            ::pause();
    }

    pid_t pid_ = 0;
};

class SqliteProcessDeath : public testing::Test {
protected:
    std::unique_ptr<store_user> opened() {
        auto user = std::make_unique<store_user>(world, folder.config());
        EXPECT_EQ(user->open(ttl), error_code()) << user->port().explain();
        return user;
    }

    // Until the connections of the ring stand: nothing tells, and nothing depends on it but the
    // haste.
    void settle() {
        world.until([] { return false; }, 50ms);
    }

    store_folder folder;
    real_world world;
};

TEST_F(SqliteProcessDeath, TheKilledHolderIsReplacedAtOnce) {
    idle_process holder(folder.config(), {"a"});
    auto waiter = opened();
    ASSERT_EQ(waiter->ask("a").type, answer::kind::queued);
    settle();
    holder.kill();
    EXPECT_TRUE(waiter->hears("granted 1", soon));
    EXPECT_EQ(folder.sockets(), 2u) << "its sockets are removed";
}

// More than one transaction frees.
TEST_F(SqliteProcessDeath, TheKilledHolderOfManyLocksIsReplacedAtOnceInAllOfThem) {
    std::vector<std::string> names;
    for (int i = 0; i < 500; ++i)
        names.push_back("lock " + std::to_string(i));
    idle_process holder(folder.config(), names);
    auto waiter = opened();
    ASSERT_EQ(waiter->ask(names.front()).type, answer::kind::queued);
    ASSERT_EQ(waiter->ask(names.back()).type, answer::kind::queued);
    settle();
    holder.kill();
    EXPECT_TRUE(waiter->hears("granted 2", soon)) << "the last that is freed";
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry WHERE queued = 0"), 2);
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry"), 2);
    EXPECT_TRUE(world.until([&] { return folder.sql("SELECT count(*) FROM session") == 1; }, soon));
}

TEST_F(SqliteProcessDeath, AHolderThatWasKilledBeforeAnybodyCameIsFoundByTheFirstWhoWaits) {
    idle_process holder(folder.config(), {"a"});
    holder.kill();
    auto waiter = opened();
    const auto got = waiter->ask("a");
    EXPECT_TRUE(got.type == answer::kind::granted || waiter->hears("granted 1", soon));
}

TEST_F(SqliteProcessDeath, AllOfManyKilledAreFoundOneAfterTheOther) {
    std::vector<std::unique_ptr<idle_process>> others;
    for (int i = 0; i < 8; ++i)
        others.push_back(
            std::make_unique<idle_process>(folder.config(), std::vector<std::string>{"a"})
        );
    for (auto& each : others)
        each->kill();
    auto waiter = opened();
    const auto got = waiter->ask("a");
    EXPECT_TRUE(got.type == answer::kind::granted || waiter->hears("granted 1", soon));
    EXPECT_TRUE(world.until([&] { return folder.sql("SELECT count(*) FROM session") == 1; }, soon));
}

TEST_F(SqliteProcessDeath, TheKilledNextWaiterIsPassedOver) {
    auto holder = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    const auto held = holder->token();
    idle_process next(folder.config(), {"a"});
    auto last = opened();
    ASSERT_EQ(last->ask("a").type, answer::kind::queued);
    settle();
    next.kill();
    holder->release("a", 1, held);
    EXPECT_TRUE(last->hears("granted 1", soon));
}

TEST_F(SqliteProcessDeath, WhoWasJustHandedTheLockAndDiesIsReplacedAtOnce) {
    auto holder = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    const auto held = holder->token();
    idle_process next(folder.config(), {"a"});
    auto last = opened();
    ASSERT_EQ(last->ask("a").type, answer::kind::queued);
    settle();
    holder->release("a", 1, held);
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry WHERE queued = 0"), 1);
    next.kill();
    EXPECT_TRUE(last->hears("granted 1", soon));
    EXPECT_GT(last->token().value, held.value + 1024) << "the dead one's grant had a token, too";
}

TEST_F(SqliteProcessDeath, AStoppedProcessIsNotDead) {
    idle_process holder(folder.config(), {"a"});
    auto waiter = opened();
    ASSERT_EQ(waiter->ask("a").type, answer::kind::queued);
    settle();
    holder.stop();
    EXPECT_TRUE(waiter->beat());
    EXPECT_FALSE(waiter->hears("granted", 200ms)) << "that takes its TTL";
    holder.kill();
    EXPECT_TRUE(waiter->hears("granted 1", soon));
}

TEST_F(SqliteProcessDeath, AStoppedNeighbourDoesNotHideADeath) {
    idle_process holder(folder.config(), {"a"});
    idle_process between(folder.config(), {});
    between.stop();
    auto waiter = opened();
    ASSERT_EQ(waiter->ask("a").type, answer::kind::queued);
    settle();
    holder.kill();
    EXPECT_TRUE(waiter->hears("granted 1", soon));
}

TEST_F(SqliteProcessDeath, ASocketThatIsGoneProvesNothing) {
    idle_process holder(folder.config(), {"a"});
    for (const auto& each : std::filesystem::directory_iterator(folder.side())) {
        if (each.path().extension() == ".s")
            std::filesystem::remove(each.path());
    }
    auto waiter = opened();
    ASSERT_EQ(waiter->ask("a").type, answer::kind::queued);
    EXPECT_TRUE(waiter->beat());
    EXPECT_FALSE(waiter->hears("granted", 200ms));
    holder.kill();
    EXPECT_TRUE(waiter->beat());
    EXPECT_FALSE(waiter->hears("granted", 200ms)) << "nobody can tell: its TTL has to run out";
}

}  // namespace
}  // namespace mortise::test::process_death_test
