// SPDX-License-Identifier: BSL-1.0
// A store whose locks are spread over a real cluster: names, the record of the store, views, and
// how many connections and writes it takes.
#include "store/redis/lock_buckets.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace mortise::test::bucketed_store_test {
namespace {

using namespace std::chrono_literals;

using store_detail::lock_buckets;

/// Each test has a store of its own there.
class BucketedStore : public testing::Test {
protected:
    redis_store_config config() const {
        redis_store_config all;
        all.cluster.emplace_back("127.0.0.1", shared_cluster().node(0).port());
        all.prefix = std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
        all.assume_new = true;
        all.longest_ttl = ttl;
        return all;
    }
    std::string record() const { return '{' + config().prefix + "}id"; }
    raw_redis at(const std::string& key) {
        return shared_cluster().node(shared_cluster().owner_of(key)).connect();
    }
    /// Names in different buckets.
    std::vector<std::string> names(std::size_t count) {
        const lock_buckets buckets("", 64);
        std::set<proof_number> taken;
        std::vector<std::string> all;
        for (int i = 0; all.size() < count; ++i) {
            std::string name = "lock-" + std::to_string(i);
            if (taken.insert(buckets.of(name)).second)
                all.push_back(std::move(name));
        }
        return all;
    }
    std::string watchers_of(proof_number bucket) const {
        return '{' + lock_buckets(config().prefix, 64).tag(bucket) + "}w";
    }
    /// Begins to watch. A session that was opened for it may have missed something, which ends the
    /// first watch. What an earlier watch has left in that bucket is no sign of this one.
    auto watch(redis_user& who, const std::string& watchers) {
        auto node = at(watchers);
        for (;;) {
            node.command({"DEL", watchers});
            auto notice = who.client().async_watch(asio::as_tuple(asio::use_future));
            bool watches = false;
            const auto decided = [&] {
                watches = node.command({"SCARD", watchers}).number == 1;
                return watches || notice.wait_for(0s) == std::future_status::ready;
            };
            EXPECT_TRUE(eventually(decided));
            if (watches || testing::Test::HasFailure())
                return notice;
        }
    }
    static std::size_t clients() {
        std::size_t count = 0;
        for (std::size_t i = 0; i < shared_cluster().size(); ++i) {
            const auto list = shared_cluster().node(i).connect().command({"CLIENT", "LIST"}).text;
            for (auto at = list.find("name=mortise "); at != std::string::npos;
                 at = list.find("name=mortise ", at + 1))
                ++count;
        }
        return count;
    }

    static constexpr std::chrono::milliseconds ttl{10'000};
};

template <class Call>
auto result_of(Call&& call) {
    return std::forward<Call>(call)(asio::as_tuple(asio::use_future)).get();
}

TEST_F(BucketedStore, ALockOfAnyNameIsAtOnePlace) {
    redis_user alice(config(), ttl);
    redis_user bob(config(), ttl);
    const std::vector<std::string> all{
        "door",
        "{door}",
        "{a}{b",
        "}{",
        "{",
        std::string("\0\xff\r\n", 4),
        std::string(1'024, 'x'),
        "T\xc3\xbcr"};
    for (const auto& name : all) {
        auto held = alice.acquire(name);
        ASSERT_FALSE(held.code) << name << ": " << held.code.message() << alice.explain();
        const auto first = held.held.token();
        EXPECT_EQ(bob.acquire(name, 0ms).code, errc::busy) << name;
        EXPECT_FALSE(alice.release(held.held));
        auto next = bob.acquire(name);
        EXPECT_FALSE(next.code) << name << bob.explain();
        EXPECT_GT(next.held.token().value, first.value);
        EXPECT_EQ(next.held.token().domain, first.domain);
        EXPECT_FALSE(bob.release(next.held));
    }
}

TEST_F(BucketedStore, AWaiterInAnyBucketIsToldAtOnce) {
    redis_user alice(config(), ttl);
    redis_user bob(config(), ttl);
    const auto begun = clock::now();
    for (const auto& name : names(20)) {
        auto held = alice.acquire(name);
        ASSERT_FALSE(held.code) << alice.explain();
        auto asked = bob.ask(name);
        EXPECT_TRUE(eventually([&] { return held.held.contended(); })) << "by a message";
        EXPECT_FALSE(alice.release(held.held));
        EXPECT_FALSE(outcome_of(asked).code) << bob.explain();
    }
    EXPECT_LT(clock::now() - begun, 20 * ttl / 3) << "no heartbeat was waited for";
}

TEST_F(BucketedStore, AllClientsNameTheSameNumberOfBuckets) {
    {
        redis_user alice(config(), ttl);
        EXPECT_FALSE(alice.acquire("door").code) << alice.explain();
    }
    auto other = config();
    other.buckets = 16;
    redis_user bob(other, ttl);
    EXPECT_EQ(bob.acquire("door", 0ms).code, errc::bad_config);
    EXPECT_NE(bob.explain().find("buckets=64"), std::string::npos) << bob.explain();
    const auto listed =
        result_of([&](auto token) { return bob.client().async_list("", 10, 10, token); });
    EXPECT_EQ(std::get<0>(listed), errc::bad_config);
    auto foreign = config();
    foreign.domain = "elsewhere";
    redis_user carol(foreign, ttl);
    EXPECT_EQ(carol.acquire("door", 0ms).code, errc::bad_config);
    EXPECT_NE(carol.explain().find("domain"), std::string::npos) << carol.explain();
}

TEST_F(BucketedStore, AStoreInOneSlotIsNotTakenForOne) {
    auto single = config();
    single.buckets = 1;
    redis_user alice(single, ttl);
    EXPECT_FALSE(alice.acquire("door").code) << alice.explain();
    redis_user bob(config(), ttl);
    EXPECT_EQ(bob.acquire("door", 0ms).code, errc::bad_config);
    EXPECT_NE(bob.explain().find("buckets=1,"), std::string::npos) << bob.explain();
}

TEST_F(BucketedStore, IsNotTakenForAStoreInOneSlot) {
    redis_user alice(config(), ttl);
    EXPECT_FALSE(alice.acquire("door").code) << alice.explain();
    auto single = config();
    single.buckets = 1;
    redis_user bob(single, ttl);
    EXPECT_EQ(bob.acquire("door", 0ms).code, errc::bad_config);
    EXPECT_NE(bob.explain().find("leave out buckets=1"), std::string::npos) << bob.explain();
}

// Its node has forgotten it, and others may have written another one.
TEST_F(BucketedStore, ARecordThatIsGoneLetsNobodyCountTheBucketsAnew) {
    redis_user alice(config(), ttl);
    const std::string name = "e";  // In bucket 12 of 64, and of 16.
    const auto held = alice.acquire(name);
    ASSERT_FALSE(held.code) << held.code.message() << alice.explain();
    at(record()).command({"DEL", record()});
    auto other = config();
    other.buckets = 16;
    redis_user bob(other, ttl);
    EXPECT_EQ(bob.acquire(name, 0ms).code, errc::bad_config) << bob.explain();
    EXPECT_NE(bob.explain().find("buckets=64"), std::string::npos) << bob.explain();
    EXPECT_TRUE(held.held.held());
}

TEST_F(BucketedStore, ABucketKeepsItsDomainWhenTheRecordIsGone) {
    const auto two = names(2);
    redis_user alice(config(), ttl);
    const auto held = alice.acquire(two[0]);
    ASSERT_FALSE(held.code) << alice.explain();
    at(record()).command({"DEL", record()});
    redis_user bob(config(), ttl);
    EXPECT_EQ(bob.acquire(two[0], 0ms).code, errc::busy) << bob.explain();
    EXPECT_FALSE(bob.acquire(two[1]).code) << bob.explain();
    EXPECT_TRUE(held.held.held());
}

TEST_F(BucketedStore, ListsInTheOrderOfTheNamesPageByPage) {
    constexpr std::size_t count = 300;
    redis_user alice(config(), ttl);
    std::vector<lease> held;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back("lock-" + std::to_string(i * 7'919 % 10'007));
        held.push_back(alice.acquire(all.back()).held);
        ASSERT_TRUE(held.back().held()) << alice.explain();
    }
    std::sort(all.begin(), all.end());
    redis_user bob(config(), ttl);  // It has no session.
    std::vector<std::string> listed;
    for (bool more = true; more;) {
        const std::string after = listed.empty() ? "" : listed.back();
        const auto page =
            result_of([&](auto token) { return bob.client().async_list(after, 110, 3, token); });
        ASSERT_FALSE(std::get<0>(page)) << bob.explain();
        for (const auto& each : std::get<1>(page))
            listed.push_back(each.name);
        more = std::get<1>(page).size() == 110;
    }
    EXPECT_EQ(listed, all);
    EXPECT_TRUE(eventually([] { return clients() <= redis_cluster::primaries; }))
        << "who only looks leaves no connection behind";
}

TEST_F(BucketedStore, AStoreThatIsNotThereIsLookedAtAndNotMade) {
    redis_user alice(config(), ttl);
    const auto listed =
        result_of([&](auto token) { return alice.client().async_list("", 10, 10, token); });
    EXPECT_FALSE(std::get<0>(listed)) << alice.explain();
    EXPECT_TRUE(std::get<1>(listed).empty());
    EXPECT_EQ(at(record()).command({"EXISTS", record()}).number, 0);
}

TEST_F(BucketedStore, BreaksALockAndRecordsIt) {
    redis_user alice(config(), ttl);
    redis_user bob(config(), ttl);
    for (const auto& name : names(3)) {
        auto held = alice.acquire(name);
        const auto broken = result_of([&](auto token) {
            return bob.client().async_break(name, held.held.token(), "a test", token);
        });
        EXPECT_FALSE(std::get<0>(broken)) << bob.explain();
        EXPECT_TRUE(std::get<1>(broken));
        EXPECT_TRUE(eventually([&] { return held.held.state() == lease_state::lost; }));
    }
    const auto records =
        result_of([&](auto token) { return bob.client().async_breaks("", 10, token); });
    ASSERT_EQ(std::get<1>(records).size(), 3u) << bob.explain();
    EXPECT_EQ(std::get<1>(records).front().name, names(3).back()) << "the newest first";
}

TEST_F(BucketedStore, AChangeInAnyBucketIsTold) {
    redis_user alice(config(), ttl);
    redis_user bob(config(), ttl);
    EXPECT_FALSE(alice.acquire("first").code) << alice.explain();
    for (const auto& name : names(6)) {
        auto notice = watch(bob, watchers_of(lock_buckets("", 64).of(name)));
        EXPECT_FALSE(alice.acquire(name).code) << alice.explain();
        ASSERT_EQ(notice.wait_for(20s), std::future_status::ready);
        EXPECT_FALSE(std::get<0>(notice.get())) << bob.explain();
    }
}

TEST_F(BucketedStore, ALostChangeIsFoundByAHeartbeat) {
    constexpr auto short_ttl = 900ms;
    redis_user bob(config(), short_ttl);
    const auto watchers = watchers_of(63);
    auto notice = watch(bob, watchers);
    at(watchers).command({"DEL", watchers});
    ASSERT_EQ(notice.wait_for(20s), std::future_status::ready);
    EXPECT_FALSE(std::get<0>(notice.get())) << bob.explain();
}

TEST_F(BucketedStore, LeavesNothingOfItsWatch) {
    const auto watchers = watchers_of(5);
    {
        redis_user bob(config(), ttl);
        auto notice = watch(bob, watchers);
    }
    EXPECT_EQ(at(watchers).command({"EXISTS", watchers}).number, 0);
}

TEST_F(BucketedStore, SeveralLocksAreTakenAllOrNone) {
    redis_user alice(config(), ttl);
    redis_user bob(config(), ttl);
    const auto three = names(3);
    auto held = alice.acquire(three.back());
    EXPECT_FALSE(held.code) << alice.explain();
    const auto acquire_all = [&](lock_options options) {
        return result_of([&](auto token) {
            return bob.client().async_acquire_all(three, options, token);
        });
    };
    EXPECT_EQ(std::get<0>(acquire_all({.wait_max = 0ms})), errc::busy);
    for (const auto& name : {three[0], three[1]})
        EXPECT_FALSE(alice.acquire(name, 0ms).code) << "given back";
    EXPECT_FALSE(alice.release(held.held));
    auto all = acquire_all({.wait_max = 20s});
    EXPECT_FALSE(std::get<0>(all)) << bob.explain();
    EXPECT_EQ(std::get<1>(all).size(), 3u);
}

TEST_F(BucketedStore, HasOneConnectionToEachNode) {
    const auto before = clients();
    redis_user alice(config(), ttl);
    std::vector<lease> held;
    for (const auto& name : names(64)) {
        held.push_back(alice.acquire(name).held);
        ASSERT_TRUE(held.back().held()) << alice.explain();
    }
    EXPECT_EQ(clients() - before, redis_cluster::primaries);
    EXPECT_FALSE(alice.stop());
    EXPECT_TRUE(eventually([&] { return clients() == before; }));
}

TEST_F(BucketedStore, TheHeartbeatsOfAllBucketsGoTogether) {
    constexpr auto short_ttl = 3'000ms;
    redis_user alice(config(), short_ttl);
    std::vector<lease> held;
    for (const auto& name : names(64))
        held.push_back(alice.acquire(name).held);
    const auto beats = [&] { return alice.client().stats().heartbeats; };
    const auto begun = beats();
    EXPECT_TRUE(eventually([&] { return beats() > begun + 192; }));
    auto admin = shared_cluster().node(0).connect();
    const auto reads = [&] { return std::stoul(admin.info("stats")["total_reads_processed"]); };
    const auto beaten = beats();
    const auto before = reads();
    EXPECT_TRUE(eventually([&] { return beats() > beaten + 5 * 64; }));
    EXPECT_LT(reads() - before, (beats() - beaten) / 6) << "a third of them come to this node";
    for (const auto& each : held)
        EXPECT_TRUE(each.held());
}

// With so long a TTL each session would ask a quiet connection whether it lives.
TEST_F(BucketedStore, AQuietConnectionIsAskedOnceForAllBuckets) {
    constexpr auto long_ttl = 60s;
    auto own = config();
    own.longest_ttl = long_ttl;
    redis_user alice(own, long_ttl);
    std::vector<lease> held;
    for (const auto& name : names(30))
        held.push_back(alice.acquire(name).held);
    const auto pings = [] {
        std::size_t count = 0;
        for (std::size_t i = 0; i < shared_cluster().size(); ++i)
            count += shared_cluster().node(i).connect().calls("ping");
        return count;
    };
    const auto nodes = shared_cluster().size();
    const auto before = pings();
    EXPECT_TRUE(eventually([&] { return pings() >= before + nodes; }));
    EXPECT_FALSE(eventually([&] { return pings() > before + 2 * nodes; }, 200ms));
}

TEST_F(BucketedStore, ExaminesAllBucketsTogether) {
    redis_user alice(config(), ttl);
    const auto door = alice.acquire("door");
    const auto window = alice.acquire("window");
    EXPECT_TRUE(door.held.held() && window.held.held()) << alice.explain();
    const auto examined =
        result_of([&](auto token) { return alice.client().async_examine(token); });
    ASSERT_FALSE(std::get<0>(examined)) << alice.explain();
    std::string all;
    std::set<std::string> subjects;
    for (const auto& each : std::get<1>(examined)) {
        all += each.found + '\n';
        EXPECT_TRUE(subjects.insert(each.subject).second) << each.subject;
    }
    EXPECT_NE(all.find("2 sessions hold or wait for 2 locks"), std::string::npos) << all;
    EXPECT_NE(all.find("64 buckets at 3 nodes"), std::string::npos) << all;
}

}  // namespace
}  // namespace mortise::test::bucketed_store_test
