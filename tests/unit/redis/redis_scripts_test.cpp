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

constexpr std::size_t script_count = redis_scripts::count;

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
    const redis_scripts scripts;
    std::set<std::string> digests;
    for (std::size_t i = 0; i < script_count; ++i) {
        const auto& script = scripts[static_cast<redis_script>(i)];
        EXPECT_FALSE(script.text.empty());
        EXPECT_EQ(script.sha1, digest_of(script.text));
        digests.insert(script.sha1);
    }
    EXPECT_EQ(digests.size(), script_count) << "no two are the same";
}

// A proxy or a cluster finds the server of a script by its keys, and a cluster that moves keys
// finds them all there.
TEST(RedisScripts, NameNoKeyOfTheirOwn) {
    const redis_scripts scripts;
    for (std::size_t i = 0; i < script_count; ++i) {
        const auto id = static_cast<redis_script>(i);
        const std::string& text = scripts[id].text;
        EXPECT_EQ(text.find("{P}"), std::string::npos) << i;
        if (id >= redis_script::single_key_take || id == redis_script::migrate)
            continue;  // That one takes over what had no list of its keys.
        const std::string begin = "call('";
        for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
            const std::string called = text.substr(at, text.find('\n', at) - at);
            const auto argument = text.substr(text.find_first_of(",)", at), 24);
            const bool has_key = argument.starts_with(", KEYS[") || argument.starts_with(", key") ||
                                 argument.starts_with(", lock.key");
            const bool needs_none =
                called.starts_with("call('TIME'") || called.starts_with("call('INFO'") ||
                called.starts_with("call('PUB") || called.starts_with("call('SPUB");
            EXPECT_TRUE(has_key || needs_none) << i << ": " << called;
        }
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
