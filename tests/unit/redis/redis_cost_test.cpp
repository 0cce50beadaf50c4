// SPDX-License-Identifier: BSL-1.0
// How many commands the scripts run at the server, and that few of them grow with what there is.
#include "support/amount.hpp"
#include "support/eventually.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"
#include "unit/redis/bare_redis_store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::redis_cost_test {
namespace {

using namespace std::chrono_literals;

/// How many commands the server has carried out, in scripts or not, but for those that call scripts
/// and those of this count itself.
std::int64_t commands_at(raw_redis& admin) {
    std::int64_t all = 0;
    for (const auto& [name, line] : admin.info("commandstats")) {
        const auto calls = line.find("calls=");
        const bool counts =
            !name.starts_with("cmdstat_eval") && name != "cmdstat_info" && name != "cmdstat_ping";
        if (counts && calls != std::string::npos)
            all += std::stoll(line.substr(calls + 6));
    }
    return all;
}

/// A session at the store, without a client: it asks, releases and beats when a test wants it.
class party {
public:
    explicit party(std::uint16_t port, std::chrono::milliseconds ttl = 10min)
        : store_(bare_store_at(port)) {
        start_.id = random_id::draw();
        start_.ttl = ttl;
        resume(1);
    }

    void resume(std::uint64_t generation) {
        start_.generation = generation;
        EXPECT_TRUE(store_.outcome((*store_).resume(start_)));
    }

    /// Asks for a lock. @return the kind of the answer
    answer::kind ask(const std::string& name, lock_mode mode = {}) {
        const auto wish = wish_for(name, mode);
        return noted(wish.id, store_.outcome((*store_).request(wish)));
    }

    /// Asks for several locks in one command. @return how many it asked for in the end
    std::size_t ask_in_order(const std::vector<std::string>& names) {
        std::vector<lock_request> wishes;
        for (const auto& each : names)
            wishes.push_back(wish_for(each, {}));
        const auto answers = store_.outcome((*store_).request_in_order(wishes));
        EXPECT_TRUE(answers);
        for (std::size_t i = 0; answers && i < answers->size(); ++i)
            noted(wishes[i].id, (*answers)[i]);
        return answers ? answers->size() : 0;
    }

    void release(request_id id) {
        const auto released = store_.outcome((*store_).release(grant_of(id)));
        EXPECT_TRUE(released && *released) << id;
        forget(id);
    }

    /// Releases a grant and asks for its lock anew. @return the kind of the answer
    answer::kind release_and_ask(request_id id) {
        const auto held = grant_of(id);
        const auto wish = wish_for(held.name, {});
        const auto both = store_.outcome((*store_).release_and_request(held, wish));
        EXPECT_TRUE(both.released && *both.released) << id;
        forget(id);
        return noted(wish.id, both.asked);
    }

    void extend(request_id id) {
        EXPECT_TRUE(store_.outcome((*store_).extend(grant_of(id), 1h))) << id;
    }

    void withdraw(request_id id) {
        EXPECT_FALSE(store_.outcome((*store_).withdraw(names_.at(id), id)));
    }

    heartbeat beat() {
        const auto reply = store_.outcome((*store_).beat(0));
        EXPECT_TRUE(reply);
        return reply ? *reply : heartbeat();
    }

    session_view look() {
        const auto view = store_.outcome((*store_).look(0));
        EXPECT_TRUE(view);
        return view ? *view : session_view();
    }

    std::uint64_t waiters(const std::string& name) {
        const auto lock = store_.outcome((*store_).inspect(name, 3));
        return lock && *lock ? (*lock)->waiter_count : 0;
    }

    void end() { EXPECT_FALSE(store_.outcome((*store_).end())); }

    /// Takes note of the grants that were pushed. @return their requests, in order
    std::vector<request_id> pushed() {
        std::vector<request_id> ids;
        for (const auto& each : store_.take_events()) {
            if (each.type != store_event::kind::granted)
                continue;
            ids.push_back(each.id);
            held_[each.id] = each.token;
            slots_[each.id] = each.slot;
        }
        return ids;
    }

    std::set<std::uint32_t> slots() const {
        std::set<std::uint32_t> all;
        for (const auto& [id, slot] : slots_)
            all.insert(slot);
        return all;
    }
    request_id last_id() const { return last_id_; }
    std::size_t holds() const { return held_.size(); }
    std::uint32_t slot_of(request_id id) const { return slots_.at(id); }

private:
    lock_request wish_for(const std::string& name, lock_mode mode) {
        lock_request wish;
        wish.id = ++last_id_;
        wish.name = name;
        wish.mode = mode;
        names_[wish.id] = name;
        return wish;
    }

    answer::kind noted(request_id id, const result<answer>& reply) {
        EXPECT_TRUE(reply);
        if (reply && reply->type == answer::kind::granted) {
            held_[id] = reply->token;
            slots_[id] = reply->slot;
        }
        return reply ? reply->type : answer::kind::refused;
    }

    grant grant_of(request_id id) const {
        grant given;
        given.id = id;
        given.name = names_.at(id);
        given.token = held_.at(id);
        return given;
    }
    void forget(request_id id) {
        held_.erase(id);
        slots_.erase(id);
    }

    bare_redis_store store_;
    session_start start_;
    request_id last_id_ = 0;
    std::map<request_id, std::string> names_;
    std::map<request_id, fencing_token> held_;
    std::map<request_id, std::uint32_t> slots_;
};

class RedisCost : public testing::Test {
protected:
    template <class Deed>
    std::int64_t cost(Deed deed) {
        const auto before = commands_at(admin_);
        deed();
        return commands_at(admin_) - before;
    }

    std::size_t listeners_at() {
        return admin_.command({"PUBSUB", "CHANNELS", store_key("i:*")}).items.size();
    }

    void expect_nothing_left() {
        for (const auto& key : admin_.command({"KEYS", "*"}).texts())
            EXPECT_TRUE(is_lasting(key)) << key;
    }

    redis_server server_;
    raw_redis admin_ = server_.connect();
};

TEST_F(RedisCost, OfALockThatIsFreeAndOfAHandOverIsSmall) {
    party alice(server_.port());
    party bob(server_.port());
    EXPECT_LE(cost([&] { alice.ask("door"); }), 5);
    EXPECT_LE(cost([&] { alice.release(1); }), 4);
    alice.ask("door");
    EXPECT_LE(cost([&] { EXPECT_EQ(bob.ask("door"), answer::kind::queued); }), 9);
    EXPECT_LE(cost([&] { alice.release(2); }), 8);
    EXPECT_TRUE(eventually([&] { return bob.pushed().size() == 1; }));
    EXPECT_LE(cost([&] { bob.release(1); }), 4);
}

TEST_F(RedisCost, OfAHandOverByWhoWantsTheLockAgainIsThatOfOne) {
    party alice(server_.port());
    party bob(server_.port());
    alice.ask("door");
    EXPECT_EQ(bob.ask("door"), answer::kind::queued);
    EXPECT_LE(cost([&] { EXPECT_EQ(alice.release_and_ask(1), answer::kind::queued); }), 9);
    EXPECT_TRUE(eventually([&] { return bob.pushed().size() == 1; }));
    EXPECT_LE(cost([&] { EXPECT_EQ(bob.release_and_ask(1), answer::kind::queued); }), 9);
    EXPECT_TRUE(eventually([&] { return alice.pushed().size() == 1; }));
    bob.withdraw(2);
    EXPECT_LE(cost([&] { EXPECT_EQ(alice.release_and_ask(2), answer::kind::granted); }), 7)
        << "nobody else waits";
    alice.release(3);
}

TEST_F(RedisCost, OfSeveralLocksIsOneScript) {
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
    const auto scripts = [&] {
        const auto stats = admin_.info("commandstats");
        const auto calls = stats.find("cmdstat_evalsha");
        return calls == stats.end() ? std::string()
                                    : calls->second.substr(0, calls->second.find(','));
    };
    party alice(server_.port());
    party bob(server_.port());
    bob.ask("warm");
    const auto before = scripts();
    EXPECT_LE(cost([&] { EXPECT_EQ(alice.ask_in_order(names), 8u); }), 5 + 2 * 8);
    EXPECT_EQ(alice.holds(), 8u);
    const auto count = [](const std::string& text) { return std::stoll(text.substr(6)); };
    EXPECT_EQ(count(scripts()), count(before) + 1);
    EXPECT_EQ(bob.ask_in_order({"0", "1", "c", "z"}), 3u);
    EXPECT_EQ(bob.holds(), 3u);
    EXPECT_EQ(alice.look().entries.size(), 8u);
    EXPECT_EQ(bob.look().entries.size(), 4u);
}

TEST_F(RedisCost, OfFrequentScriptsDoesNotGrowWithWhatASessionHolds) {
    party alice(server_.port());
    const auto costs = [&] {
        std::vector<std::int64_t> all;
        const auto id = alice.last_id() + 1;
        all.push_back(cost([&] { alice.ask("one more"); }));
        all.push_back(cost([&] { alice.release(id); }));
        all.push_back(cost([&] { alice.beat(); }));
        all.push_back(cost([&] { alice.resume(2); }));
        return all;
    };
    std::vector<std::int64_t> first;
    for (const std::uint64_t locks :
         {std::uint64_t{10}, amount("MORTISE_LOCKS_HELD", 1'000, 100'000)}) {
        while (alice.holds() < locks)
            alice.ask("lock " + std::to_string(alice.holds()));
        const auto found = costs();
        if (first.empty())
            first = found;
        EXPECT_EQ(found, first) << locks;
    }
}

// None of the portions is long, and all of them together are everything.
TEST_F(RedisCost, OfALookIsSpreadOverPortions) {
    party alice(server_.port());
    for (int i = 0; i < 700; ++i)
        alice.ask("lock " + std::to_string(i));
    std::set<std::string> names;
    for (const auto& each : alice.look().entries)
        names.insert(each.name);
    EXPECT_EQ(names.size(), 700u);
    alice.end();
    expect_nothing_left();
}

TEST_F(RedisCost, OfAPermitDoesNotGrowWithTheirHolders) {
    const auto mode = lock_mode::permits(1'000);
    party alice(server_.port());
    party bob(server_.port());
    const auto cycle = [&] {
        const auto id = bob.last_id() + 1;
        return cost([&] { EXPECT_EQ(bob.ask("pool", mode), answer::kind::granted); }) +
               cost([&] { bob.release(id); });
    };
    const auto extension = [&] { return cost([&] { alice.extend(17); }); };
    while (alice.holds() < 30)
        alice.ask("pool", mode);
    const auto first = cycle();
    EXPECT_LE(extension(), 9) << "of a grant without an end";
    const auto first_extension = extension();
    while (alice.holds() < 999)
        alice.ask("pool", mode);
    EXPECT_EQ(cycle(), first);
    EXPECT_EQ(extension(), first_extension);
    EXPECT_LE(extension(), 10);
    EXPECT_EQ(alice.slots().size(), 999u) << "each has a slot of its own";
    EXPECT_EQ(*alice.slots().rbegin(), 999u);
}

TEST_F(RedisCost, ACrowdGivesTheLowestFreeSlotAndShrinksAgain) {
    const auto mode = lock_mode::permits(40);
    party alice(server_.port());
    party bob(server_.port());
    while (alice.holds() < 40)
        ASSERT_EQ(alice.ask("pool", mode), answer::kind::granted);
    EXPECT_EQ(alice.slots().size(), 40u);
    ASSERT_EQ(bob.ask("pool", mode), answer::kind::queued);
    const auto freed = alice.slot_of(7);
    alice.release(7);
    ASSERT_TRUE(eventually([&] { return bob.pushed().size() == 1; }));
    EXPECT_EQ(bob.slot_of(1), freed);
    for (request_id id = 1; id <= 36; ++id) {
        if (id != 7)
            alice.release(id);
    }
    EXPECT_EQ(alice.look().entries.size(), 4u);
    ASSERT_EQ(bob.ask("pool", mode), answer::kind::granted);
    EXPECT_EQ(bob.slot_of(2), 1u);
    EXPECT_EQ(alice.waiters("pool"), 0u);
    alice.end();
    bob.end();
    expect_nothing_left();
}

// More of them wait than the text of the lock takes.
TEST_F(RedisCost, ALongQueueKeepsItsOrder) {
    constexpr request_id count = 300;
    party alice(server_.port());
    party bob(server_.port());
    ASSERT_EQ(alice.ask("door"), answer::kind::granted);
    for (request_id id = 1; id <= count; ++id)
        ASSERT_EQ(bob.ask("door"), answer::kind::queued);
    EXPECT_EQ(alice.waiters("door"), count);
    EXPECT_EQ(bob.look().entries.size(), count);
    for (const request_id id : {10u, 250u, 300u})
        bob.withdraw(id);
    EXPECT_EQ(bob.ask("door", lock_mode::permits(2)), answer::kind::queued);
    EXPECT_EQ(alice.waiters("door"), count - 2);
    alice.release(1);
    std::vector<request_id> order;
    while (order.size() < count - 2) {
        std::vector<request_id> next;
        ASSERT_TRUE(eventually([&] { return !(next = bob.pushed()).empty(); })) << order.size();
        ASSERT_EQ(next.size(), 1u);
        order.push_back(next.front());
        bob.release(next.front());
    }
    std::vector<request_id> expected;
    for (request_id id = 1; id <= count + 1; ++id) {
        if (id != 10 && id != 250 && id != 300)
            expected.push_back(id);
    }
    EXPECT_EQ(order, expected);
    alice.end();
    bob.end();
    expect_nothing_left();
}

// Who cannot be reached keeps its place, and those behind it get what can be shared, also those
// whom the text of the lock has no room for.
TEST_F(RedisCost, ALongQueueOfReadersPassesByWhoCannotBeReached) {
    constexpr std::size_t count = 120;
    const auto reads = lock_mode::shared();
    party alice(server_.port());
    party bob(server_.port());
    ASSERT_EQ(alice.ask("book"), answer::kind::granted);
    {
        party away(server_.port());
        ASSERT_EQ(away.ask("book", reads), answer::kind::queued);
    }
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(bob.ask("book", reads), answer::kind::queued);
    ASSERT_TRUE(eventually([&] { return listeners_at() == 2; }));
    alice.release(1);
    std::size_t granted = 0;
    EXPECT_TRUE(eventually([&] { return (granted += bob.pushed().size()) == count; })) << granted;
    EXPECT_EQ(alice.waiters("book"), 1u);
}

TEST_F(RedisCost, OfPermitsInALongQueueOnlyThoseThatWaitCount) {
    party alice(server_.port());
    party bob(server_.port());
    ASSERT_EQ(alice.ask("door"), answer::kind::granted);
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(bob.ask("door"), answer::kind::queued);
    ASSERT_EQ(bob.ask("door", lock_mode::permits(3)), answer::kind::queued);
    bob.withdraw(bob.last_id());
    EXPECT_EQ(bob.ask("door", lock_mode::permits(5)), answer::kind::queued);
}

// Somebody has put something else under the key of one of its locks.
TEST_F(RedisCost, AForeignKeyKeepsNoOtherLockOfTheDead) {
    party bob(server_.port());
    {
        party dead(server_.port(), 400ms);
        for (const char* const each : {"a", "b", "c"})
            ASSERT_EQ(dead.ask(each), answer::kind::granted);
    }
    ASSERT_EQ(bob.ask("a"), answer::kind::queued);
    ASSERT_EQ(bob.ask("c"), answer::kind::queued);
    admin_.command({"DEL", store_key("l:b")});
    admin_.command({"HSET", store_key("l:b"), "not", "ours"});
    std::size_t granted = 0;
    EXPECT_TRUE(eventually([&] {
        bob.beat();
        return (granted += bob.pushed().size()) == 2;
    }));
    EXPECT_TRUE(eventually([&] {
        bob.beat();
        return sessions_at(admin_).size() == 1;
    }));
}

TEST_F(RedisCost, TheEndOfAQuarantineGrantsInPortions) {
    constexpr int count = 150;
    party alice(server_.port());
    party bob(server_.port());
    for (int i = 0; i < count; ++i) {
        alice.ask("lock " + std::to_string(i));
        bob.ask("lock " + std::to_string(i));
    }
    const auto time = admin_.command({"TIME"});
    const auto until = std::stoll(time.items.at(0).text) * 1'000'000 + 3'000'000;
    admin_.command({"HSET", store_key("s"), "t", "1 " + std::to_string(until) + " 0"});
    for (request_id id = 1; id <= count; ++id)
        alice.release(id);
    EXPECT_TRUE(bob.pushed().empty());
    // A lock that is not ours keeps none of the others.
    admin_.command({"ZADD", store_key("y"), "0", "lock 100 and more"});
    admin_.command({"HSET", store_key("l:lock 100 and more"), "not", "ours"});
    std::size_t granted = 0;
    EXPECT_TRUE(eventually([&] {
        bob.beat();
        granted += bob.pushed().size();
        return granted == count;
    }));
    bob.end();
    alice.end();
    admin_.command({"DEL", store_key("l:lock 100 and more")});
    expect_nothing_left();
}

// Everybody who tries in vain tells the holder, and counts a change of its session.
TEST_F(RedisCost, APushThatTellsAllSavesALook) {
    redis_user holder(bare_store_at(server_.port()), 3s);
    redis_user other(bare_store_at(server_.port()), 3s);
    auto held = holder.acquire("door");
    ASSERT_FALSE(held.code);
    const auto try_until_beat = [&] {
        const auto begun = holder.client().stats().heartbeats;
        EXPECT_TRUE(eventually(
            [&] {
                EXPECT_EQ(other.acquire("door", 1ms).code, errc::busy);
                return holder.client().stats().heartbeats != begun;
            },
            20s
        ));
    };
    const auto looks = [&] { return holder.client().stats().looks; };
    try_until_beat();  // The beginning of the store is followed by a look.
    ASSERT_TRUE(eventually([&] { return looks() == 1; }));
    try_until_beat();
    try_until_beat();  // A look after the heartbeat before this one has ended.
    EXPECT_EQ(looks(), 1);
    EXPECT_TRUE(held.held.held());
}

}  // namespace
}  // namespace mortise::test::redis_cost_test
