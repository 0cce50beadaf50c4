// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_scripts.hpp"

#include <gtest/gtest.h>

#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <set>
#include <string>

namespace mortise::store_detail::redis_scripts_test {
namespace {

constexpr auto script_count = static_cast<unsigned>(redis_script::watch) + 1;

std::string digest_of(const std::string& text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    EXPECT_EQ(EVP_Digest(text.data(), text.size(), sum.data(), &size, EVP_sha1(), nullptr), 1);
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(sum[i]));
        hex += digits.data();
    }
    return hex;
}

TEST(RedisScripts, AreCalledByTheirDigest) {
    ASSERT_EQ(digest_of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d") << "FIPS 180";
    const redis_scripts scripts("mortise:");
    std::set<std::string> digests;
    for (unsigned i = 0; i < script_count; ++i) {
        const auto& script = scripts[static_cast<redis_script>(i)];
        EXPECT_FALSE(script.text.empty());
        EXPECT_EQ(script.sha1, digest_of(script.text));
        digests.insert(script.sha1);
    }
    EXPECT_EQ(digests.size(), script_count) << "no two are the same";
}

TEST(RedisScripts, OfTheSingleKeyFormAreTheSameForAllPrefixes) {
    const redis_scripts one("one:");
    const redis_scripts none("");
    std::set<std::string> digests;
    for (auto i = script_count; i <= static_cast<unsigned>(redis_script::single_key_view); ++i) {
        const auto script = static_cast<redis_script>(i);
        EXPECT_FALSE(one[script].text.empty());
        EXPECT_EQ(one[script].text, none[script].text);
        EXPECT_EQ(one[script].sha1, digest_of(one[script].text));
        digests.insert(one[script].sha1);
    }
    EXPECT_EQ(digests.size(), 6u);
}

TEST(RedisScripts, HaveThePrefixInAllPlaces) {
    const std::string prefix = "a-prefix-that-stands-nowhere-else:";
    const redis_scripts scripts(prefix);
    const redis_scripts none("");
    for (unsigned i = 0; i < script_count; ++i) {
        const auto script = static_cast<redis_script>(i);
        std::string text = scripts[script].text;
        EXPECT_EQ(text.find("{P}"), std::string::npos) << i;
        std::size_t places = 0;
        for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
            text.erase(at, prefix.size());
            ++places;
        }
        EXPECT_GT(places, 0u) << i;
        EXPECT_EQ(text, none[script].text) << i;
        EXPECT_NE(scripts[script].sha1, none[script].sha1) << i;
    }
}

TEST(RedisScripts, TakePrefixesThatCanStandInThem) {
    for (const char* good : {"mortise:", "a", "A-Z_0.9/", "#$%&()*+,;<=>?@[]^`|~!"})
        EXPECT_TRUE(redis_scripts::prefix_allowed(good)) << good;
    for (const char* bad : {" ", "a b", "'", "\"", "\\", "{", "}", "a\n", "\x7F", "\xC3\xA4", "\t"})
        EXPECT_FALSE(redis_scripts::prefix_allowed(bad)) << bad;
    EXPECT_FALSE(redis_scripts::prefix_allowed(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace mortise::store_detail::redis_scripts_test
