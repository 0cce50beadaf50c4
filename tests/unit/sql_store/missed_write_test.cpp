// SPDX-License-Identifier: BSL-1.0
// A write that misses, because another client has changed the lock meanwhile, tells nobody of what
// it would have done.
#include "core/lock_engine.hpp"
#include "store/sql/loaded_rows.hpp"
#include "store/sql/statement_gateway.hpp"
#include "unit/sql_store/twin_place.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::missed_write_test {
namespace {

using namespace std::chrono_literals;
using store_detail::loaded_rows;
using store_detail::row_lock;
using store_detail::sql_lock;
using store_detail::sql_lock_change;

const std::string name = "seats";
const lock_mode two_permits = lock_mode::permits(2);

class MissedWrite : public testing::Test {
protected:
    struct party {
        std::shared_ptr<store_detail::sql_gateway> gateway;
        store_detail::sql_actor actor;
        std::vector<store_detail::sql_push> pushes;
    };

    ~MissedWrite() override {
        for (auto& each : parties_)
            each.gateway->close();
        context_.restart();
        context_.run();  // until the connections have ended
    }

    template <class R>
    R await(asio::awaitable<R> call) {
        std::optional<R> reply;
        asio::co_spawn(context_, std::move(call), [&](const std::exception_ptr& thrown, R given) {
            EXPECT_FALSE(thrown);
            reply = std::move(given);
        });
        context_.restart();
        while (!reply)
            context_.run_one();
        return *reply;
    }

    party& join() {
        party& added = parties_.emplace_back();
        added.gateway = store_detail::make_statement_gateway(place_->make_server());
        added.gateway->start(
            context_.get_executor(),
            time_,
            [&added](const auto& push) { added.pushes.push_back(push); },
            [] {}
        );
        EXPECT_FALSE(await(added.gateway->connect()));
        session_start start;
        start.id = random_id::draw();
        start.generation = 1;
        start.ttl = 60s;
        added.actor = {await(added.gateway->prove(start))->key, 1};
        return added;
    }

    sql_lock load(const party& by) {
        return *await(by.gateway->load(by.actor, name, row_lock::none));
    }

    // What an operation of the engine on this state of the lock would write.
    template <class Operation>
    sql_lock_change change(const party& by, const sql_lock& loaded, Operation operation) {
        loaded_rows rows(loaded);
        core::lock_engine engine(rows, loaded.now);
        operation(engine);
        return rows.take_change(by.actor, 0, ++stamp_, engine.take_effects());
    }

    bool ask(const party& by, request_id id) {
        lock_request request;
        request.name = name;
        request.id = id;
        request.mode = two_permits;
        request.queue = true;
        return *await(by.gateway->store(change(by, load(by), [&](auto& engine) {
            EXPECT_TRUE(engine.request(by.actor.key, request));
        })));
    }

    sql_lock_change letting_go(const party& by, const sql_lock& loaded) {
        const auto held = std::find_if(
            loaded.entries.begin(),
            loaded.entries.end(),
            [&](const core::lock_entry& each) {
                return each.granted && each.session == by.actor.key;
            }
        );
        EXPECT_NE(held, loaded.entries.end());
        return change(by, loaded, [&](auto& engine) {
            EXPECT_TRUE(engine.release(by.actor.key, {name, held->id, held->token, held->slot}));
        });
    }

    // All pushes to this session up to now, by one more that everybody must get.
    void hear_all(party& by, const party& from) {
        auto last = change(from, load(from), [](auto&) {});
        auto& push = last.pushes.emplace_back();
        push.type = store_event::kind::look_again;
        push.to = by.actor.key;
        last.changes[by.actor.key] = 1;
        ASSERT_TRUE(*await(from.gateway->store(last)));
        const auto end = clock::now() + 10s;
        const auto heard_last = [&] {
            return !by.pushes.empty() && by.pushes.back().type == store_event::kind::look_again;
        };
        context_.restart();
        while (!heard_last() && clock::now() < end)
            context_.run_one_for(100ms);
        ASSERT_TRUE(heard_last());
    }

    asio::io_context context_{1};
    const std::unique_ptr<twin_place> place_ = make_twin_place();
    std::shared_ptr<coro::time_source> time_ = coro::make_boot_time_source(context_.get_executor());
    std::deque<party> parties_;
    store_detail::sql_stamp stamp_ = 1'000;
};

// Both would grant to the same waiter, with the same token, but each its own slot.
TEST_F(MissedWrite, TellsOfNoGrantInAnotherSlot) {
    party& first = join();
    party& second = join();
    party& waiter = join();
    ASSERT_TRUE(ask(first, 1));
    ASSERT_TRUE(ask(second, 2));
    ASSERT_TRUE(ask(waiter, 3));

    const auto seen = load(first);
    const auto done = letting_go(first, seen);
    auto missed = letting_go(second, seen);
    missed.row.base = done.row.base;  // as if both had been decided in the same microsecond
    ASSERT_EQ(missed.writes.size(), 1u);
    missed.writes[0].token = done.writes.at(0).token;
    for (auto& each : missed.pushes)
        each.token = done.writes.at(0).token;
    ASSERT_NE(missed.writes[0].slot, done.writes.at(0).slot);
    ASSERT_TRUE(*await(first.gateway->store(done)));
    ASSERT_FALSE(*await(second.gateway->store(missed)));

    hear_all(waiter, second);
    std::vector<std::uint32_t> slots;
    for (const auto& push : waiter.pushes) {
        if (push.type == store_event::kind::granted)
            slots.push_back(push.slot);
    }
    for (const auto slot : slots)
        EXPECT_EQ(slot, done.writes.at(0).slot);
    EXPECT_FALSE(slots.empty());
}

}  // namespace
}  // namespace mortise::test::missed_write_test
