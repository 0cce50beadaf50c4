// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/connection.hpp"
#include "mortise/outbox/error.hpp"
#include "unit/outbox/outbox_world.hpp"
#include "wall_clock.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::test::outbox_listening_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::shard_status;
using texts = std::vector<std::string>;

class OutboxListening : public outbox_world {
protected:
    /// As a writer that dies between its COMMIT and its ring.
    void commit_without_a_ring(const std::string& payload) const {
        sqlite3* handle = nullptr;
        ASSERT_EQ(::sqlite3_open(database().c_str(), &handle), SQLITE_OK);
        ::sqlite3_busy_timeout(handle, 20'000);
        ASSERT_EQ(::sqlite3_exec(handle, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
        outbox::append(handle, message("events", "k", payload));
        ASSERT_EQ(::sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
        ::sqlite3_close(handle);
    }
    void start_and_rest(std::chrono::milliseconds look_every) {
        auto how = config();
        how.look_every = look_every;
        how.purge_after = 1h;
        start(how);
        drain();
        EXPECT_TRUE(await_state(shard_status::state::idle));
    }
};

TEST_F(OutboxListening, ACommitWithoutARingIsSentAfterTheNextLook) {
    start_and_rest(20ms);
    commit_without_a_ring("1");
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
    commit_without_a_ring("2");
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 2; }));
    EXPECT_EQ(cluster_.payloads(), (texts{"1", "2"}));
}

TEST_F(OutboxListening, WhatIsDueLaterIsFoundByALookToo) {
    start_and_rest(20ms);
    sqlite3* handle = nullptr;
    ASSERT_EQ(::sqlite3_open(database().c_str(), &handle), SQLITE_OK);
    ::sqlite3_busy_timeout(handle, 20'000);
    ASSERT_EQ(::sqlite3_exec(handle, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    message event("events", "k", "later");
    event.not_before = outbox::wall_time(outbox::wall_now()) + 50ms;
    outbox::append(handle, event);
    ASSERT_EQ(::sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
    ::sqlite3_close(handle);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
}

TEST_F(OutboxListening, ALookFindsNothingWhereNothingIs) {
    start_and_rest(1ms);
    const auto batches = cluster_.batches();
    append("k", "v");
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
    EXPECT_EQ(cluster_.batches(), batches + 1);
}

TEST_F(OutboxListening, IsAwaited) {
    append("k", "before");
    auto how = config();
    how.look_every = 24h;
    start(how);
    wait_for(site_.relay->async_wait_listening(asio::use_future));
    // It hears of this one by the ring alone.
    append("k", "after");
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 2; }));
    EXPECT_EQ(cluster_.payloads(), (texts{"before", "after"}));
    wait_for(site_.relay->async_wait_listening(asio::use_future));
    wait_for(site_.relay->async_stop(asio::use_future));
    auto late = site_.relay->async_wait_listening(asio::use_future);
    try {
        wait_for(std::move(late));
        ADD_FAILURE() << "it does not listen";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::stopped);
    }
}

}  // namespace
}  // namespace mortise::test::outbox_listening_test
