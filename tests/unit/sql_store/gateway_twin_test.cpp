// SPDX-License-Identifier: BSL-1.0
// The calls of the gateway at a real server, walked at random beside the model of a server, whose
// rules are those of the lock engine: both must answer alike, and have the same rows afterwards.
#include "core/lock_engine.hpp"
#include "sql_model/sql_tables.hpp"
#include "store/sql/loaded_rows.hpp"
#include "support/amount.hpp"
#include "unit/sql_store/gateway_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::gateway_twin_test {
namespace {

using namespace std::chrono_literals;
using core::lock_entry;
using store_detail::loaded_rows;
using store_detail::row_lock;
using store_detail::sql_actor;
using store_detail::sql_lock;
using store_detail::sql_stamp;

constexpr std::chrono::milliseconds ttl = 60s;

/// A session at both.
struct party : gateway_world::party {
    sql_actor model;
};

/// One walk, with tables and sessions of its own.
class twin_walk {
public:
    explicit twin_walk(std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < 3; ++i)
            join();
    }
    twin_walk(const twin_walk&) = delete;
    twin_walk& operator=(const twin_walk&) = delete;

    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            world_.place->extend(ttl);  // no session sends a heartbeat
            step();
            compare();
            ASSERT_FALSE(testing::Test::HasFailure()) << "step " << i;
        }
    }

private:
    template <class R>
    R await(asio::awaitable<R> call) {
        return world_.await(std::move(call));
    }

    party& join() {
        party& added = parties_.emplace_back();
        static_cast<gateway_world::party&>(added) = world_.open(ttl, [](const auto&) {});
        added.model = {model_.prove(now_, added.start)->key, 1};
        return added;
    }

    party& any() { return parties_[draw(parties_.size())]; }
    std::string any_name() {
        const std::array names = {std::string("door"), std::string("a\0b", 3), std::string("c")};
        return names[draw(names.size())];
    }
    std::size_t draw(std::size_t below) { return random_() % below; }
    sql_stamp stamp() { return ++stamp_; }

    // The key of a session at the model as that at the server.
    core::session_key real_key(core::session_key model) const {
        for (const auto& each : parties_) {
            if (each.model.key == model)
                return each.actor.key;
        }
        return model;
    }

    // A base at the server for one at the model. Both grow alike.
    std::uint64_t real_base(const std::string& name, std::uint64_t model) const {
        const auto at = bases_.find(name);
        if (at == bases_.end())
            return 0;
        const auto found = at->second.find(model);
        return found == at->second.end() ? 0 : found->second;
    }
    void learn(const std::string& name, std::uint64_t model, std::uint64_t real) {
        auto& known = bases_[name];
        const auto [at, added] = known.emplace(model, real);
        EXPECT_EQ(at->second, real) << "one grant at the model, two at the server";
        if (at != known.begin()) {
            EXPECT_GT(at->second, std::prev(at)->second) << "tokens grow";
        }
    }

    void take(party& by) {
        const auto name = any_name();
        const auto id = ++request_;
        const bool joins = draw(4) != 0;
        const auto mark = stamp();
        const auto wanted = model_.take(now_, by.model, name, id, joins, mark);
        auto found = await(by.gateway->take(by.actor, name, id, joins, mark));
        ASSERT_TRUE(wanted) << wanted.error().message();
        if (found && !found->apt && wanted->apt)  // A statement for locks that were used may miss.
            found = await(by.gateway->take(by.actor, name, id, joins, mark));
        ASSERT_TRUE(found);
        EXPECT_EQ(found->apt, wanted->apt) << name;
        EXPECT_EQ(found->granted, wanted->granted);
        if (wanted->apt) {
            EXPECT_EQ(found->queue, wanted->queue);
            if (!wanted->granted) {
                EXPECT_EQ(found->ordinal, wanted->ordinal);
            }
        }
    }

    // The holder, or a waiter, as it is, or something that is nearly it.
    void give_up(party& by) {
        const auto name = any_name();
        const auto lock = *model_.load(now_, {}, name, 0);
        const auto mark = stamp();
        const bool forged = draw(6) == 0;
        if (draw(3) == 0 && !lock.entries.empty()) {
            const auto& waiter = lock.entries[draw(lock.entries.size())];
            const auto id = waiter.id + (forged ? 1 : 0);
            const auto wanted = model_.withdraw(now_, by.model, name, id, waiter.ordinal, mark);
            const auto found =
                await(by.gateway->withdraw(by.actor, name, id, waiter.ordinal, mark));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->erased, wanted->erased);
            EXPECT_EQ(found->granted, wanted->granted);
            return;
        }
        const auto id = lock.row.request + (forged ? 1 : 0);
        const auto base = lock.row.base;
        const auto real = real_base(name, base);
        if (draw(2) == 0) {
            const auto wanted = model_.release(now_, by.model, name, id, base, mark);
            const auto found = await(by.gateway->release(by.actor, name, id, real, mark));
            ASSERT_TRUE(found);
            EXPECT_EQ(*found, *wanted) << "release of " << name;
        } else {
            const auto wanted = model_.pass_on(now_, by.model, name, id, base, mark);
            const auto found = await(by.gateway->pass_on(by.actor, name, id, real, mark));
            ASSERT_TRUE(found);
            EXPECT_EQ(*found, *wanted) << "pass on of " << name;
        }
    }

    /// An operation by the general way, on rows that were loaded.
    template <class Load, class Store, class Mark>
    static void generally(
        const lock_request& request,
        sql_actor actor,
        sql_stamp mark,
        Load load,
        Store store,
        Mark mark_dead
    ) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            const auto loaded = load();
            if (!loaded)
                return;
            loaded_rows rows(*loaded);
            core::lock_engine engine(rows, loaded->now);
            if (request.queue)
                static_cast<void>(engine.request(actor.key, request));
            else
                engine.withdraw(actor.key, request.name, request.id);
            for (const auto key : rows.unmarked())
                mark_dead(key);
            if (!rows.unmarked().empty())
                continue;
            if (rows.any_change())
                store(rows.take_change(actor, request.id, mark, engine.take_effects()));
            return;
        }
        ADD_FAILURE() << "dead sessions are met again and again";
    }

    void ask_generally(party& by) {
        lock_request request;
        request.name = any_name();
        request.id = draw(3) == 0 ? request_ : ++request_;
        request.queue = draw(4) != 0;  // else it is withdrawn
        if (draw(2) == 0)
            request.mode = lock_mode::shared();
        if (draw(4) == 0)
            request.hold_max = 100'000h;
        const auto mark = stamp();
        bool wanted = true;
        bool found = true;
        generally(
            request,
            by.model,
            mark,
            [&] { return model_.load(now_, by.model, request.name, 0); },
            [&](const auto& change) { wanted = model_.store(now_, change, 0).value(); },
            [&](auto key) { static_cast<void>(model_.mark_dead(now_, key)); }
        );
        generally(
            request,
            by.actor,
            mark,
            [&] { return await(by.gateway->load(by.actor, request.name, row_lock::none)); },
            [&](const auto& change) { found = await(by.gateway->store(change)).value(); },
            [&](auto key) { static_cast<void>(await(by.gateway->mark_dead(key))); }
        );
        EXPECT_EQ(found, wanted);
    }

    // Its deadline passes: at the server by hand, at the model while the others go on.
    void expire(party& one) {
        for (int i = 0; i < 3; ++i) {
            now_ += ttl / 2;
            for (auto& each : parties_) {
                if (&each != &one)
                    static_cast<void>(model_.prove(now_, each.start));
            }
        }
        world_.place->expire(one.actor.key);
    }

    void lead_one_to_its_end() {
        party& one = any();
        party& other = any();
        if (draw(3) == 0) {
            EXPECT_EQ(await(one.gateway->end(one.actor)), model_.end(one.model));
        } else {
            expire(one);
            const auto wanted = model_.mark_dead(now_, one.model.key);
            EXPECT_EQ(*await(other.gateway->mark_dead(one.actor.key)), *wanted);
        }
        // A server may forget all that can be forgotten with one of them.
        for (const auto& each : parties_) {
            EXPECT_FALSE(await(other.gateway->forget(each.actor.key)));
            EXPECT_FALSE(model_.forget(each.model.key));
        }
        // If nobody watches any longer, a server may open the short ways with a heartbeat.
        for (const auto& each : parties_)
            beat(each);
        if (draw(2) == 0)
            join();
    }

    void beat(const party& by) {
        const auto wanted = *model_.entries(now_, by.model.key, 0);
        const auto found = await(by.gateway->beat(by.actor));
        ASSERT_EQ(found.has_value(), wanted.alive);
        if (found) {
            EXPECT_EQ(found->changes, wanted.changes);
        }
    }

    void watch(party& by) {
        EXPECT_EQ(await(by.gateway->watch(by.actor)), model_.watch(now_, by.model));
    }

    std::string described(const std::string& name, const sql_lock& lock, bool is_model) {
        std::ostringstream text;
        const auto key = [&](auto of) { return is_model ? real_key(of) : of; };
        text << (lock.row.stamp != 0 ? "there" : "none") << " holder " << key(lock.row.holder)
             << " queue " << lock.row.queue << " last " << lock.row.last << " rest "
             << lock.row.rest;
        if (lock.row.holder != 0)
            text << " request " << lock.row.request;
        for (const auto& each : lock.entries) {
            text << "; " << each.ordinal << (each.granted ? " granted " : " waits ")
                 << key(each.session) << ' ' << each.id << ' ' << static_cast<int>(each.mode.type())
                 << ' ' << each.hold_max.count() << ' ' << each.slot << ' ';
            const auto base = each.token >> fencing_token::sequence_bits;
            text << (is_model && base != 0 ? real_base(name, base) : base);
        }
        std::map<core::session_key, bool> dead;
        for (const auto& each : lock.parties)
            dead[key(each.key)] = each.dead;
        for (const auto& [session, is_dead] : dead)
            text << " | " << session << (is_dead ? " dead" : " not dead");
        return text.str();
    }

    void learn_bases(const sql_lock& model, const sql_lock& real) {
        if (model.row.holder != 0 && real.row.holder != 0)
            learn(model.name, model.row.base, real.row.base);
        for (std::size_t i = 0; i < std::min(model.entries.size(), real.entries.size()); ++i) {
            if (model.entries[i].token != 0 && real.entries[i].token != 0)
                learn(
                    model.name,
                    model.entries[i].token >> fencing_token::sequence_bits,
                    real.entries[i].token >> fencing_token::sequence_bits
                );
        }
    }

    void compare() {
        for (const auto& name : {std::string("door"), std::string("a\0b", 3), std::string("c")}) {
            const auto wanted = *model_.load(now_, {}, name, 0);
            const auto found = *await(parties_[0].gateway->load({}, name, row_lock::none));
            learn_bases(wanted, found);
            ASSERT_EQ(described(name, found, false), described(name, wanted, true)) << name;
        }
        for (const auto& each : parties_) {
            const auto wanted = *model_.entries(now_, each.model.key, 100);
            const auto found = *await(each.gateway->entries(each.actor.key, 100));
            ASSERT_EQ(found.alive, wanted.alive);
            ASSERT_EQ(found.generation, wanted.generation);
            ASSERT_EQ(found.changes, wanted.changes);
            ASSERT_EQ(found.places.size(), wanted.places.size());
            for (std::size_t i = 0; i < found.places.size(); ++i) {
                ASSERT_EQ(found.places[i].entry.name, wanted.places[i].entry.name);
                ASSERT_EQ(found.places[i].entry.id, wanted.places[i].entry.id);
                ASSERT_EQ(found.places[i].contended, wanted.places[i].contended);
            }
        }
    }

    void step() {
        party& by = any();
        switch (draw(16)) {
        case 0:
            return lead_one_to_its_end();
        case 1:
            return watch(by);
        case 2:
        case 3:
        case 4:
            return ask_generally(by);
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
            return give_up(by);
        default:
            return take(by);
        }
    }

    std::mt19937_64 random_;
    gateway_world world_;
    sql_model::sql_tables model_{[](const auto&) {}};
    clock::time_point now_ = clock::time_point(std::chrono::hours(500'000));
    std::deque<party> parties_;
    std::map<std::string, std::map<std::uint64_t, std::uint64_t>> bases_;
    request_id request_ = 0;
    sql_stamp stamp_ = 1'000;
};

TEST(GatewayTwin, AnswersAndWritesAsTheModelDoes) {
    constexpr int steps = 150;
    const auto seeds = amount("MORTISE_TWIN_SEEDS", 2, 20);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(twin_walk(seed).run(steps));
    }
}

}  // namespace
}  // namespace mortise::test::gateway_twin_test
