// SPDX-License-Identifier: BSL-1.0
// What waits in outbox/, cancelled before each of its handlers.
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/operate.hpp"
#include "mortise/outbox/relay.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"
#include "unit/db/db_world.hpp"
#include "unit/outbox/fake_cluster.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test::outbox_sweep_test {
namespace {

class OutboxSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, OutboxSweep, testing::ValuesIn(cancellation_types), param_name());

/// A relay, and three messages.
class relay_case : public sweep_case {
protected:
    explicit relay_case(db_world& world) : world_(world) {
        outbox::relay_config how;
        how.database = world.database().parent_path() / "messages.db";
        how.sink = cluster_.factory();
        how.purge_after = std::chrono::milliseconds(1);  // a timer keeps a context at work
        db::sqlite_config config;
        config.path = how.database;
        db::sqlite session(world.context.get_executor(), std::move(config));
        const auto work = [](db::connection& on) {
            for (const char* each : {"1", "2", "3"})
                outbox::append(on, outbox::message("events", "k", each));
        };
        world.run(session.async_run(work, db::durability::force, asio::use_awaitable));
        relay_ = std::make_unique<outbox::relay>(world.context.get_executor(), std::move(how));
    }

    db_world& world_;
    fake_cluster cluster_;
    std::unique_ptr<outbox::relay> relay_;
};

class draining final : public relay_case {
public:
    explicit draining(db_world& world) : relay_case(world) {}

    asio::awaitable<void> operation() override {
        auto waiting = relay_->async_drained();
        co_await std::move(waiting);
        EXPECT_EQ(cluster_.size(), 3u);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        world_.run(relay_->async_drained(asio::use_awaitable));
        EXPECT_EQ(cluster_.payloads(), (std::vector<std::string>{"1", "2", "3"}));
        world_.run(relay_->async_stop(asio::use_awaitable));
    }
};

TEST_P(OutboxSweep, WhoWaitsNoLongerHoldsNothingUp) {
    const auto steps = cancel_sweep<db_world>("relay::async_drained", GetParam(), [](auto& at) {
        return std::make_unique<draining>(at);
    });
    EXPECT_GE(steps, 5u);
}

class listening final : public relay_case {
public:
    explicit listening(db_world& world) : relay_case(world) {}

    asio::awaitable<void> operation() override {
        auto waiting = relay_->async_wait_listening();
        co_await std::move(waiting);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        world_.run(relay_->async_drained(asio::use_awaitable));
        EXPECT_EQ(cluster_.size(), 3u);
        world_.run(relay_->async_stop(asio::use_awaitable));
    }
};

TEST_P(OutboxSweep, WhoWaitsForTheRelayToListenHoldsNothingUp) {
    const auto steps =
        cancel_sweep<db_world>("relay::async_wait_listening", GetParam(), [](auto& at) {
            return std::make_unique<listening>(at);
        });
    EXPECT_GE(steps, 1u);
}

class counting final : public relay_case {
public:
    explicit counting(db_world& world) : relay_case(world) {}

    asio::awaitable<void> operation() override {
        auto listening = relay_->async_wait_listening();
        co_await std::move(listening);
        auto asking = relay_->async_lag();
        const auto found = co_await std::move(asking);
        EXPECT_LE(found.rows, 3u);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        world_.run(relay_->async_drained(asio::use_awaitable));
        EXPECT_EQ(world_.run(relay_->async_lag(asio::use_awaitable)).rows, 0u);
        world_.run(relay_->async_stop(asio::use_awaitable));
    }
};

TEST_P(OutboxSweep, WhoCountsHoldsNothingUp) {
    cancel_sweep<db_world>("relay::async_lag", GetParam(), [](auto& at) {
        return std::make_unique<counting>(at);
    });
}

class stopping final : public relay_case {
public:
    explicit stopping(db_world& world) : relay_case(world) {}

    asio::awaitable<void> operation() override {
        auto ending = relay_->async_stop();
        co_await std::move(ending);
        ended_ = true;
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(ended_ || code == asio::error::operation_aborted) << code.message();
        relay_.reset();
        // Each message is sent, together with its mark, or it is not.
        const auto sent = cluster_.size();
        EXPECT_TRUE(sent == 0 || sent == 3) << sent;
    }

private:
    bool ended_ = false;
};

TEST_P(OutboxSweep, AStopIsNotStopped) {
    cancel_sweep<db_world>("relay::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<stopping>(at);
    });
}

/// An inbox, whose handler writes a line.
class inbox_case : public sweep_case {
protected:
    explicit inbox_case(db_world& world) : world_(world) {
        db::sqlite_config config;
        config.path = world.database().parent_path() / "messages.db";
        session_ = std::make_shared<db::sqlite>(world.context.get_executor(), std::move(config));
        const auto work = [](db::connection& on) { on.run("CREATE TABLE book(line TEXT)"); };
        world.run(session_->async_run(work, db::durability::force, asio::use_awaitable));
        outbox::inbox_config how;
        how.handler = [](db::connection& on, const outbox::received& received) {
            on.run(
                "INSERT INTO book(line) VALUES(?1)", std::string_view(*received.message.payload)
            );
            return outbox::answer::done();
        };
        inbox_.emplace(world.context.get_executor(), session_, std::move(how));
    }

    static std::vector<outbox::received> two() {
        std::vector<outbox::received> deliveries;
        for (const char* each : {"1", "2"}) {
            deliveries.emplace_back(
                "events-0",
                static_cast<std::int64_t>(deliveries.size()),
                outbox::message("events", "k", each)
            );
        }
        return deliveries;
    }
    std::int64_t lines() {
        const auto work = [](db::connection& on) {
            auto row = on.query("SELECT count(*) FROM book");
            row.step();
            return row.integer(0);
        };
        return world_.run(session_->async_read(work, asio::use_awaitable));
    }

    db_world& world_;
    std::shared_ptr<db::sqlite> session_;
    std::optional<outbox::inbox> inbox_;
};

class receiving final : public inbox_case {
public:
    explicit receiving(db_world& world) : inbox_case(world) {}

    asio::awaitable<void> operation() override {
        auto delivering = inbox_->async_receive(two());
        co_await std::move(delivering);
        auto asking = inbox_->async_positions();
        const auto found = co_await std::move(asking);
        EXPECT_EQ(found.at("events-0"), 2);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        const auto before = lines();
        EXPECT_TRUE(before == 0 || before == 2) << before;
        world_.run(inbox_->async_receive(two(), asio::use_awaitable));
        EXPECT_EQ(lines(), 2);
        world_.run(inbox_->async_stop(asio::use_awaitable));
    }
};

TEST_P(OutboxSweep, WhatIsReceivedHasItsEffectOnce) {
    const auto make = [](auto& at) { return std::make_unique<receiving>(at); };
    EXPECT_GE(cancel_sweep<db_world>("inbox::async_receive", GetParam(), make), 2u);
    EXPECT_GE(cancel_sweep<db_world>("inbox::async_positions", GetParam(), make), 2u);
}

class naming final : public inbox_case {
public:
    explicit naming(db_world& world) : inbox_case(world) {}

    asio::awaitable<void> operation() override {
        auto asking = inbox_->async_identity();
        told_ = co_await std::move(asking);
        EXPECT_TRUE(told_.ends_with("/inbox")) << told_;
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        const auto later = world_.run(inbox_->async_identity(asio::use_awaitable));
        EXPECT_TRUE(told_.empty() || told_ == later) << told_ << ' ' << later;
        EXPECT_EQ(world_.run(inbox_->async_identity(asio::use_awaitable)), later);
        world_.run(inbox_->async_stop(asio::use_awaitable));
    }

private:
    std::string told_;
};

TEST_P(OutboxSweep, AnInboxIsTheSameWhoeverAsks) {
    const auto make = [](auto& at) { return std::make_unique<naming>(at); };
    EXPECT_GE(cancel_sweep<db_world>("inbox::async_identity", GetParam(), make), 1u);
}

class stopping_inbox final : public inbox_case {
public:
    explicit stopping_inbox(db_world& world) : inbox_case(world) {}

    asio::awaitable<void> operation() override {
        inbox_->async_receive(two(), [](error_code) {});
        auto ending = inbox_->async_stop();
        co_await std::move(ending);
        ended_ = true;
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(ended_ || code == asio::error::operation_aborted) << code.message();
        inbox_.reset();
        const auto left = lines();
        EXPECT_TRUE(left == 0 || left == 2) << left;
    }

private:
    bool ended_ = false;
};

TEST_P(OutboxSweep, AnInboxStopsBetweenMessages) {
    cancel_sweep<db_world>("inbox::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<stopping_inbox>(at);
    });
}

}  // namespace
}  // namespace mortise::test::outbox_sweep_test
