// SPDX-License-Identifier: BSL-1.0
// What a store that is spread over a cluster knows without asking: which bucket has a lock, what a
// record means, how lists of several buckets become one.
#include "store/redis/bucket_record.hpp"
#include "store/redis/bucket_views.hpp"
#include "store/redis/lock_buckets.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace mortise::store_detail::lock_buckets_test {
namespace {

// The numbers are part of the format: another one would give a lock to two.
TEST(LockBuckets, OfANameIsTheSameForEver) {
    const lock_buckets buckets("p", 64);
    EXPECT_EQ(buckets.of(""), 9u) << "FNV-1a: cbf29ce484222325";
    EXPECT_EQ(buckets.of("a"), 24u) << "FNV-1a: af63dc4c8601ec8c";
    EXPECT_EQ(buckets.of("foobar"), 25u) << "FNV-1a: 85944171f73967e8";
}

TEST(LockBuckets, AreFilledEvenlyByAnyBytes) {
    const lock_buckets buckets("p", 64);
    for (const std::string& begin :
         {std::string("order-"), std::string("{a}"), std::string("\0\xff", 2)}) {
        std::map<proof_number, int> filled;
        for (int i = 0; i < 6'400; ++i)
            ++filled[buckets.of(begin + std::to_string(i))];
        EXPECT_EQ(filled.size(), 64u);
        for (const auto& [number, count] : filled) {
            EXPECT_GT(count, 50) << number;
            EXPECT_LT(count, 150) << number;
        }
    }
    EXPECT_LT(lock_buckets("p", 7).of("door"), 7u);
    EXPECT_EQ(buckets.tag(7), "p{7");
}

recorded_store parsed(const std::vector<std::string>& words) {
    return parse_record(test::texts_reply(words), 64);
}

TEST(BucketRecord, SaysWhatToDoWhereAStoreIsAnother) {
    EXPECT_TRUE(parsed({"o", "shop"}).found);
    EXPECT_EQ(parsed({"o", "shop"}).domain, "shop");
    EXPECT_FALSE(parsed({"m"}).found);
    EXPECT_FALSE(parsed({"m"}).failure.code);
    EXPECT_EQ(parsed({"c", "16"}).failure.code, errc::bad_config);
    EXPECT_NE(parsed({"c", "16"}).failure.text.find("buckets=16"), std::string::npos);
    EXPECT_EQ(parsed({"s", "2"}).failure.code, errc::bad_config);
    EXPECT_NE(parsed({"s", "2"}).failure.text.find("buckets=1,"), std::string::npos);
    EXPECT_EQ(parsed({"d", "shop"}).failure.code, errc::bad_config);
    EXPECT_EQ(parsed({"f", "buckets 2"}).failure.code, errc::newer_format);
    for (const auto& each : {parsed({}), parsed({"o"}), parsed({"?"})})
        EXPECT_EQ(each.failure.code, errc::store_corrupt);
    const auto refused = test::error_reply("NOPERM this user has no permissions");
    EXPECT_EQ(parse_record(refused, 64).failure.code, errc::access_denied);
}

// Reads the lists of two buckets as a store does. @return the merged names
std::string merged(std::vector<std::vector<std::string>> buckets, std::size_t limit) {
    merged_list merging(buckets.size(), "", limit);
    for (auto wanted = merging.wanted(); !wanted.empty(); wanted = merging.wanted()) {
        for (const auto bucket : wanted) {
            std::vector<lock_view> page;
            for (const auto& name : buckets[bucket]) {
                if (name > merging.after(bucket) && page.size() < merging.page())
                    page.emplace_back().name = name;
            }
            merging.add(bucket, std::move(page));
        }
    }
    std::string names;
    for (const auto& each : merging.take())
        names += each.name + ' ';
    return names;
}

TEST(MergedList, IsInTheOrderOfTheNamesHoweverTheyAreSpread) {
    EXPECT_EQ(merged({{}, {}}, 10), "");
    EXPECT_EQ(merged({{"a", "d"}, {"b", "c", "e"}}, 10), "a b c d e ");
    EXPECT_EQ(merged({{"a", "d"}, {"b", "c", "e"}}, 3), "a b c ");
    EXPECT_EQ(merged({{"a", "d"}, {"b", "c", "e"}}, 0), "");
    std::vector<std::string> many;
    std::string all;
    for (int i = 100; i < 200; ++i) {
        many.push_back(std::to_string(i));
        all += many.back() + ' ';
    }
    EXPECT_EQ(merged({many, {}}, 100), all) << "several pages of one bucket";
    EXPECT_EQ(merged({many, {"x"}}, 200), all + "x ");
    EXPECT_EQ(merged({{"0"}, many}, 101), "0 " + all);
}

TEST(MergeBreaks, KeepsTheNewest) {
    const auto at = [](int second) {
        break_record record;
        record.at = std::chrono::system_clock::time_point(std::chrono::seconds(second));
        return record;
    };
    const auto all = merge_breaks({{at(9), at(2)}, {at(5)}, {}}, 2);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].at, at(9).at);
    EXPECT_EQ(all[1].at, at(5).at);
}

TEST(MergeExaminations, TellOfEachSubjectTheWorstAndOfAllSessionsTogether) {
    std::vector<redis_examination> parts(2);
    parts[0].sessions = 2;
    parts[1].sessions = 3;
    parts[0].locks = parts[1].locks = 1;
    parts[0].facts.known = parts[1].facts.known = true;
    parts[0].facts.eviction_policy = "noeviction";
    parts[1].facts.eviction_policy = "allkeys-lru";
    const auto found = merge_examinations(parts, 3);
    const auto of = [&](const std::string& subject) {
        const auto is_it = [&](const auto& each) { return each.subject == subject; };
        return *std::find_if(found.begin(), found.end(), is_it);
    };
    EXPECT_EQ(of("memory").judgement, store_finding::verdict::weak);
    EXPECT_NE(of("sessions").found.find("5 sessions"), std::string::npos);
    EXPECT_NE(of("sessions").found.find("2 locks"), std::string::npos);
    EXPECT_NE(of("buckets").found.find("2 buckets at 3 nodes"), std::string::npos);
}

}  // namespace
}  // namespace mortise::store_detail::lock_buckets_test
