// SPDX-License-Identifier: BSL-1.0
// A write that misses, because another client has changed the lock meanwhile, tells nobody of what
// it would have done.
#include "core/lock_engine.hpp"
#include "store/sql/loaded_rows.hpp"
#include "unit/sql_store/gateway_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
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
    struct party : gateway_world::party {
        std::vector<store_detail::sql_push> pushes;
    };

    party& join() {
        party& added = parties_.emplace_back();
        static_cast<gateway_world::party&>(added) =
            world_.open(60s, [&added](const auto& push) { added.pushes.push_back(push); });
        return added;
    }

    sql_lock load(const party& by) {
        return *world_.await(by.gateway->load(by.actor, name, row_lock::none));
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
        return *world_.await(by.gateway->store(change(by, load(by), [&](auto& engine) {
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
        ASSERT_TRUE(*world_.await(from.gateway->store(last)));
        const auto end = clock::now() + 10s;
        const auto heard_last = [&] {
            return !by.pushes.empty() && by.pushes.back().type == store_event::kind::look_again;
        };
        world_.context.restart();
        while (!heard_last() && clock::now() < end)
            world_.context.run_one_for(100ms);
        ASSERT_TRUE(heard_last());
    }

    std::deque<party> parties_;  // before the world, whose end they may hear
    gateway_world world_;
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
    ASSERT_TRUE(*world_.await(first.gateway->store(done)));
    ASSERT_FALSE(*world_.await(second.gateway->store(missed)));

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
