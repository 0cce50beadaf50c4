// SPDX-License-Identifier: BSL-1.0
// Somebody else has the store's database locked: a foreign program, or a process of the store that
// was stopped in the middle of a commit.

#include "chaos/chaos_test.hpp"
#include "mortise/error.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <csignal>
#include <string>
#include <thread>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// A program that does not know the store, with a transaction on its database.
class foreigner {
public:
    foreigner(const std::filesystem::path& database, const char* begin) {
        EXPECT_EQ(::sqlite3_open(database.c_str(), &db_), SQLITE_OK);
        ::sqlite3_busy_timeout(db_, 5'000);
        run(begin);
    }
    ~foreigner() {
        run("ROLLBACK");
        ::sqlite3_close(db_);
    }
    foreigner(const foreigner&) = delete;
    foreigner& operator=(const foreigner&) = delete;

private:
    void run(const char* sql) {
        EXPECT_EQ(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK)
            << ::sqlite3_errmsg(db_);
    }

    sqlite3* db_ = nullptr;
};

class BusyStorage : public chaos_test {
protected:
    static std::string failure_of(const std::string& name, errc code) {
        return "failed " + name + ' ' + std::to_string(static_cast<int>(code));
    }

    static std::string state_of(actor_process& whose, const std::string& name) {
        whose.tell("state " + name);
        return whose.hear("state " + name).value_or("nothing");
    }
};

TEST_F(BusyStorage, AForeignWriterOfHalfASecondIsWaitedFor) {
    const auto one = start(5s);
    one->acquire("door");
    {
        const foreigner busy(folder / "locks.db", "BEGIN IMMEDIATE");
        one->tell("acquire window");
        std::this_thread::sleep_for(500ms);  // not longer: the client gives up after a while
        EXPECT_FALSE(one->hear("held window", 0ms));
    }
    EXPECT_TRUE(one->hear("held window", 5s));
}

TEST_F(BusyStorage, AForeignWriterOfSecondsTakesNoLeaseAndLeavesNothingBehind) {
    for (const char* begin : {"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}) {
        const auto holder = start(1s);
        const auto waiter = start(1s);
        holder->acquire("door");
        waiter->tell("acquire door");
        queued("door", 2);
        {
            const foreigner busy(folder / "locks.db", begin);
            holder->tell("acquire window");
            EXPECT_TRUE(holder->hear(failure_of("window", errc::store_unavailable), 2s));
            holder->tell("explain");
            const auto why = holder->hear("explain");
            EXPECT_NE(
                why.value_or("").find("another program has the database open"), std::string::npos
            ) << why.value_or("");
            std::this_thread::sleep_for(4s);  // TTL and budget end, heartbeats continue
            EXPECT_EQ(state_of(*holder, "door"), "state door held");
        }
        EXPECT_EQ(state_of(*holder, "door"), "state door held");
        EXPECT_FALSE(waiter->hear("held door", 200ms)) << "it was not free";
        holder->tell("release door");
        EXPECT_TRUE(waiter->hear("held door", 2s));
        // The failed acquire left nothing behind.
        waiter->tell("acquire window");
        EXPECT_TRUE(waiter->hear("held window", 2s));
        for (const auto* each : {&holder, &waiter}) {
            (*each)->tell("stop");
            EXPECT_TRUE((*each)->hear("stopped"));
        }
        EXPECT_TRUE(nothing_is_left());
    }
}

TEST_F(BusyStorage, WhatCouldNotBeReleasedOrWithdrawnIsMadeUpForAfterwards) {
    const auto holder = start(1s);
    const auto waiter = start(1s);
    holder->acquire("door");
    holder->acquire("window");
    waiter->acquire("attic");
    waiter->tell("acquire door");
    waiter->tell("acquire window");
    queued("door", 2);
    queued("window", 2);
    {
        const foreigner busy(folder / "locks.db", "BEGIN IMMEDIATE");
        holder->tell("release door");
        waiter->tell("withdraw window");
        EXPECT_FALSE(waiter->hear("held door", 5s));  // longer than TTL and budget together
        // Each has an order to repeat, and loses no lease because of that.
        EXPECT_EQ(state_of(*holder, "window"), "state window held");
        EXPECT_EQ(state_of(*waiter, "attic"), "state attic held");
    }
    EXPECT_TRUE(waiter->hear("held door", 3s)) << "the release was forgotten";
    EXPECT_EQ(state_of(*holder, "window"), "state window held");
    EXPECT_EQ(state_of(*waiter, "attic"), "state attic held");
    // The client retries the withdrawal by itself, up to a second later than the release.
    EXPECT_TRUE(eventually([&] { return sql("SELECT count(*) FROM entry WHERE queued = 1") == 0; }))
        << "somebody still waits";
}

/// Stops a process in the middle of the commit of its release, with others beside it.
class StoppedInside : public BusyStorage {
protected:
    static constexpr auto ttl = 1s;

    void stop_inside(int write) {
        token = inside->acquire("door");
        beside->acquire("window");
        next->tell("acquire door");
        queued("door", 2);
        inside->tell("trap stop " + std::to_string(write));
        ASSERT_TRUE(inside->hear("trap set"));
        inside->tell("release door");
        inside->await_stop();
        // The store stands still for everybody, longer than the TTL: no lease is lost.
        beside->tell("acquire attic");
        EXPECT_FALSE(beside->hear("held attic", 2 * ttl));
        EXPECT_EQ(state_of(*beside, "window"), "state window held");
        EXPECT_FALSE(next->hear("held door", 0ms));
    }

    void all_goes_on() {
        const auto line = next->hear("held door", 2s);
        ASSERT_TRUE(line);
        EXPECT_GT(token_in(*line), token);
        EXPECT_TRUE(beside->hear("held attic", 2s));
        EXPECT_EQ(state_of(*beside, "window"), "state window held");
        beside->tell("release window");
        EXPECT_TRUE(beside->hear("released window"));
    }

    std::unique_ptr<actor_process> inside = start(ttl);
    std::unique_ptr<actor_process> beside = start(ttl);
    std::unique_ptr<actor_process> next = start(ttl);
    std::uint64_t token = 0;
};

TEST_F(StoppedInside, AllGoesOnWhenItGoesOn) {
    for (const int write : {1, 3}) {
        stop_inside(write);
        inside->send(SIGCONT);
        all_goes_on();
        next->tell("release door");
        EXPECT_TRUE(next->hear("released door"));
        beside->tell("release attic");
        EXPECT_TRUE(beside->hear("released attic"));
    }
}

TEST_F(StoppedInside, AllGoesOnWhenItIsKilled) {
    stop_inside(2);
    inside->kill();
    all_goes_on();
    for (const auto* each : {&beside, &next}) {
        (*each)->tell("stop");
        EXPECT_TRUE((*each)->hear("stopped"));
    }
    EXPECT_TRUE(nothing_is_left());
}

}  // namespace
}  // namespace mortise::test
