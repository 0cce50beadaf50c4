// SPDX-License-Identifier: BSL-1.0
// How relays share the shards of a table. Their time is virtual: they look when a test says so.
#include "mortise/coro/event.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/outbox/handler_sink.hpp"
#include "mortise/store/memory.hpp"
#include "relay/shard_sharing.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::test::outbox_sharing_test {
namespace {

using namespace std::chrono_literals;
using outbox::shard_status;
using outbox::detail::shard_lock;
using outbox::detail::surplus;
using numbers = std::vector<std::uint32_t>;
using counts = std::vector<std::size_t>;

session_id session(std::uint64_t number) {
    session_id id;
    id.low = number;
    return id;
}

/// The first of these holds the shard, the others wait; 1 are we.
shard_lock lock_of(std::uint32_t shard, const std::vector<std::uint64_t>& parties) {
    shard_lock lock;
    lock.shard = shard;
    lock.holder = session(parties.front());
    lock.mine = parties.front() == 1;
    for (auto each = parties.begin() + 1; each != parties.end(); ++each)
        lock.waiters.push_back(session(*each));
    return lock;
}

TEST(OutboxShardSharing, GivesTheHalfToOneThatHasNone) {
    EXPECT_EQ(
        surplus({lock_of(0, {1, 2}), lock_of(1, {1, 2}), lock_of(2, {1, 2}), lock_of(3, {1, 2})}),
        (numbers{3, 2})
    );
}

TEST(OutboxShardSharing, GivesNothingForADifferenceOfOne) {
    EXPECT_EQ(surplus({lock_of(0, {1, 2}), lock_of(1, {1, 2}), lock_of(2, {2, 1})}), numbers());
    EXPECT_EQ(surplus({lock_of(0, {1, 2})}), numbers());
    EXPECT_EQ(surplus({lock_of(0, {1}), lock_of(1, {1})}), numbers()) << "nobody waits";
}

TEST(OutboxShardSharing, OnlyOneOfThoseWithMostGives) {
    const std::vector<shard_lock> seen_by_one{
        lock_of(0, {1, 3, 2}), lock_of(1, {1, 3, 2}), lock_of(2, {2, 3, 1}), lock_of(3, {2, 3, 1})};
    EXPECT_EQ(surplus(seen_by_one), numbers{1});
    auto seen_by_two = seen_by_one;
    for (auto& each : seen_by_two)
        each.mine = !each.mine;
    EXPECT_EQ(surplus(seen_by_two), numbers());
}

TEST(OutboxShardSharing, GivesOneAlsoWhereWhoeverIsFirstHasEnough) {
    EXPECT_EQ(
        surplus(
            {lock_of(0, {1, 2, 3}),
             lock_of(1, {1, 2, 3}),
             lock_of(2, {2, 3, 1}),
             lock_of(3, {2, 3, 1})}
        ),
        numbers{1}
    );
}

// Any number of relays on any number of shards come to rest, and then have as many, or one more.
TEST(OutboxShardSharing, ComesToRest) {
    for (std::size_t shards = 1; shards <= 12; ++shards) {
        for (std::uint64_t relays = 1; relays <= 5; ++relays) {
            std::vector<std::vector<std::uint64_t>> queues(shards);
            for (auto& each : queues) {
                for (std::uint64_t i = 1; i <= relays; ++i)
                    each.push_back(i);
            }
            std::size_t moves = 0;
            for (bool moved = true; moved;) {
                moved = false;
                for (std::uint64_t who = 1; who <= relays; ++who) {
                    std::vector<shard_lock> seen;
                    for (std::size_t i = 0; i < shards; ++i) {
                        seen.push_back(lock_of(static_cast<std::uint32_t>(i), queues[i]));
                        seen.back().mine = queues[i].front() == who;
                    }
                    for (const auto given : surplus(seen)) {
                        auto& queue = queues[given];
                        ASSERT_EQ(queue.front(), who);
                        std::rotate(queue.begin(), queue.begin() + 1, queue.end());
                        moved = true;
                        ++moves;
                    }
                }
                ASSERT_LE(moves, shards * relays * 2) << shards << " shards, " << relays;
            }
            std::map<std::uint64_t, std::size_t> has;
            for (std::uint64_t i = 1; i <= relays; ++i)
                has[i] = 0;
            for (const auto& each : queues)
                ++has[each.front()];
            for (const auto& [who, count] : has) {
                EXPECT_GE(count, shards / relays) << shards << " shards, " << relays;
                EXPECT_LE(count, (shards + relays - 1) / relays) << shards << " shards, " << relays;
            }
        }
    }
}

class OutboxSharing : public outbox_world {
protected:
    /// A relay in a process of its own, so to speak.
    class party {
    public:
        party(const memory_server& server, outbox::relay_config how)
            : time_(std::make_shared<coro::virtual_time>(site_.executor())),
              locks_(std::make_shared<lock_client>(site_.executor(), server.make_store())) {
            how.locks = locks_;
            how.time = time_;
            site_.relay.emplace(site_.executor(), std::move(how));
        }
        ~party() {
            stop();
            locks_.reset();
        }
        party(const party&) = delete;
        party& operator=(const party&) = delete;

        void stop() {
            if (!site_.relay)
                return;
            std::promise<void> stopped;
            auto ended = stopped.get_future();
            site_.relay->async_stop([&](error_code) { stopped.set_value(); });
            while (ended.wait_for(1ms) != std::future_status::ready)
                pass(1ms);
            site_.relay.reset();
        }
        void pass(std::chrono::milliseconds span) {
            std::promise<void> passed;
            asio::post(site_.executor(), [&] {
                time_->advance(span);
                passed.set_value();
            });
            passed.get_future().wait();
        }
        std::size_t shards() const {
            const auto all = site_.relay->status();
            return static_cast<std::size_t>(std::count_if(
                all.begin(),
                all.end(),
                [](const auto& x) {
                    return x.at != shard_status::state::standby &&
                           x.at != shard_status::state::done;
                }
            ));
        }
        std::size_t in(shard_status::state wanted) const {
            const auto all = site_.relay->status();
            return static_cast<std::size_t>(std::count_if(
                all.begin(), all.end(), [wanted](const auto& x) { return x.at == wanted; }
            ));
        }

    private:
        outbox_site site_;
        std::shared_ptr<coro::virtual_time> time_;
        std::shared_ptr<lock_client> locks_;
    };

    party& add(outbox::relay_config how) {
        parties_.push_back(std::make_unique<party>(server_, std::move(how)));
        return *parties_.back();
    }
    party& add() { return add(config()); }
    counts shares() const {
        counts found;
        for (const auto& each : parties_)
            found.push_back(each->shards());
        std::sort(found.begin(), found.end());
        return found;
    }
    void pass(std::chrono::milliseconds span) {
        for (const auto& each : parties_)
            each->pass(span);
    }
    /// Looks until it is so.
    bool comes_to(const counts& wanted) {
        return eventually([&] {
            pass(1s);
            return shares() == wanted;
        });
    }
    void expect_once_in_order(int rounds) {
        EXPECT_TRUE(eventually([&] {
            pass(10ms);
            return cluster_.size() >= static_cast<std::size_t>(rounds) * keys;
        }));
        EXPECT_EQ(cluster_.size(), static_cast<std::size_t>(rounds) * keys);
        for (int key = 0; key < keys; ++key) {
            const auto sent = cluster_.payloads_of(std::to_string(key));
            ASSERT_EQ(sent.size(), static_cast<std::size_t>(rounds));
            for (int i = 0; i < rounds; ++i)
                EXPECT_EQ(sent[static_cast<std::size_t>(i)], std::to_string(i)) << key;
        }
    }
    void append_round(int round) {
        run([round](db::connection& on) {
            for (int key = 0; key < keys; ++key)
                outbox::append(
                    on, outbox::message("events", std::to_string(key), std::to_string(round))
                );
        });
    }

    static constexpr int keys = 16;
    const memory_server server_;
    std::vector<std::unique_ptr<party>> parties_;
};

TEST_F(OutboxSharing, TwoRelaysHaveHalfOfTheShardsEach) {
    append_round(0);
    party& first = add();
    ASSERT_TRUE(eventually([&] { return first.shards() == 4; }));
    add();
    EXPECT_TRUE(comes_to({2, 2}));
    for (int round = 1; round < 4; ++round) {
        append_round(round);
        pass(1s);
    }
    expect_once_in_order(4);
}

TEST_F(OutboxSharing, OfThreeNobodyIsLeftWithoutAndNoShardWandersAfterwards) {
    append_round(0);
    add();
    add();
    ASSERT_TRUE(comes_to({2, 2}));
    add();
    EXPECT_TRUE(comes_to({1, 1, 2}));
    const auto taken = events(outbox::relay_event::kind::taken);
    for (int i = 1; i < 10; ++i) {
        append_round(i);
        pass(1s);
    }
    expect_once_in_order(10);
    EXPECT_EQ(shares(), (counts{1, 1, 2}));
    EXPECT_EQ(events(outbox::relay_event::kind::taken), taken) << "it has changed hands again";
}

TEST_F(OutboxSharing, WhoIsLeftHasAllOfThem) {
    add();
    add();
    ASSERT_TRUE(comes_to({2, 2}));
    parties_.pop_back();
    EXPECT_TRUE(comes_to({4}));
    append_round(0);
    expect_once_in_order(1);
}

TEST_F(OutboxSharing, AHandoverThatTakesLongGivesNoMoreThanIsDue) {
    coro::event gate(site_.executor());
    auto how = config();
    how.sink =
        outbox::make_handler_sink([&](const outbox::outgoing&) -> asio::awaitable<outbox::verdict> {
            auto waiting = gate.async_wait();
            co_await std::move(waiting);
            co_return outbox::verdict::done();
        });
    append_round(0);
    party& first = add(how);
    ASSERT_TRUE(eventually([&] { return first.in(shard_status::state::sending) == 4; }));
    party& second = add(how);
    for (int looks = 0; looks < 30; ++looks) {
        pass(1s);
        eventually([] { return false; }, 5ms);  // they ask the store
    }
    EXPECT_EQ(second.shards(), 0u);
    gate.set();
    EXPECT_TRUE(comes_to({2, 2}));
    EXPECT_EQ(events(outbox::relay_event::kind::taken), 6u) << "some came back";
    parties_.clear();
}

TEST_F(OutboxSharing, AHandoverIsOrderly) {
    append_round(0);
    party& first = add();
    ASSERT_TRUE(eventually([&] { return first.in(shard_status::state::idle) == 4; }));
    add();
    for (int round = 1; round < 6; ++round) {
        append_round(round);
        pass(1s);
    }
    EXPECT_TRUE(comes_to({2, 2}));
    expect_once_in_order(6);
    EXPECT_EQ(events(outbox::relay_event::kind::failed), 0u);
    EXPECT_EQ(events(outbox::relay_event::kind::mark_lost), 0u);
}

}  // namespace
}  // namespace mortise::test::outbox_sharing_test
