// SPDX-License-Identifier: BSL-1.0
#include "mortise/fencing_token.hpp"
#include "store/redis/stored_entry.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::store_detail::stored_entry_test {
namespace {

TEST(StoredEntry, OfARequestHasModeTimeAndName) {
    const auto entry = stored_entry::parse("w s - 1700000000000000 a name");
    ASSERT_TRUE(entry);
    EXPECT_FALSE(entry->granted);
    EXPECT_EQ(entry->mode, lock_mode::shared());
    EXPECT_EQ(entry->hold_max, std::chrono::milliseconds::max());
    EXPECT_EQ(entry->since, 1'700'000'000'000'000u);
    EXPECT_EQ(entry->name, "a name");
}

TEST(StoredEntry, OfAGrantHasItsTokenToo) {
    const auto entry = stored_entry::parse("g p65535 250 7 9007199254740991 65535 n");
    ASSERT_TRUE(entry);
    EXPECT_TRUE(entry->granted);
    EXPECT_EQ(entry->mode, lock_mode::permits(65'535));
    EXPECT_EQ(entry->hold_max, std::chrono::milliseconds(250));
    EXPECT_EQ(entry->since, 7u);
    EXPECT_EQ(entry->base, fencing_token::base_end - 1);
    EXPECT_EQ(entry->slot, 65'535u);
    EXPECT_EQ(entry->name, "n");
}

TEST(StoredEntry, HasANameOfAnyBytes) {
    const std::string name("\0 \xFF g x - 1", 12);
    const auto entry = stored_entry::parse("w x - 1 " + name);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->name, name);
}

TEST(StoredEntry, IsNothingIfNoScriptWritesIt) {
    for (const char* bad :
         {"",
          "w",
          "h x - 1 n",
          "w y - 1 n",
          "w x - 1",
          "w x - 1 ",
          "w x -1 1 n",
          "w x 9007199254740992 1 n",
          "w x - -1 n",
          "w x - y n",
          "w x  1 n",
          "g x - 1 0 0 n",
          "g x - 1 9007199254740992 0 n",
          "g x - 1 1 65536 n",
          "g x - 1 1 4294967296 n",
          "g x - 1 1 0",
          "g x - 1 n",
          "a x 1",
          "a x 1 ",
          "a y 1 n",
          "a x - 1 n",
          "a x 9007199254740992 n"})
        EXPECT_FALSE(stored_entry::parse(bad)) << bad;
}

TEST(StoredEntry, HasAModeThatIsReadAsItIsWritten) {
    for (const lock_mode mode :
         {lock_mode::exclusive(),
          lock_mode::shared(),
          lock_mode::permits(1),
          lock_mode::permits(lock_mode::capacity_max)})
        EXPECT_EQ(parse_mode(mode_text(mode)), mode) << mode_text(mode);
}

TEST(StoredEntry, HasNoOtherModes) {
    for (const char* bad : {"", "X", "xx", "s1", "p", "p0", "p65536", "p-1", "p1 2", "1"})
        EXPECT_FALSE(parse_mode(bad)) << bad;
}

}  // namespace
}  // namespace mortise::store_detail::stored_entry_test
