// SPDX-License-Identifier: BSL-1.0
// Somebody writes into the write-ahead log of a store that is in use.
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace mortise::test::garbled_log_test {
namespace {

constexpr std::size_t log_header = 32;

void write_rubbish(const std::filesystem::path& log, std::uint32_t seed, std::size_t from) {
    const auto size = std::filesystem::file_size(log);
    ASSERT_GT(size, from);
    std::mt19937 random(seed);
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(from));
    for (std::size_t i = from; i < size; ++i)
        file.put(static_cast<char>(random()));
}

TEST(SqliteGarbledLog, IsCalledCorruptByWhoeverMeetsIt) {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const store_folder folder;
        const still_clock time;
        state_user holder(folder.config(), time);
        state_user other(folder.config(), time);
        ASSERT_EQ(holder.open(), error_code());
        ASSERT_EQ(other.open(), error_code());
        for (const char* name : {"a", "b", "c"})
            ASSERT_EQ(holder.ask(name).type, answer::kind::granted);
        write_rubbish(folder.database().string() + "-wal", seed, seed % 2 == 0 ? 0 : log_header);
        int corrupt = 0;
        for (int round = 0; round < 4; ++round) {
            for (state_user* user : {&holder, &other}) {
                user->ask("d");
                if (user->asked()) {
                    EXPECT_EQ(user->asked(), errc::store_corrupt)
                        << user->asked().message() << ": " << user->state.explain();
                    ++corrupt;
                }
            }
        }
        EXPECT_GT(corrupt, 0) << "nobody noticed";
    }
}

}  // namespace
}  // namespace mortise::test::garbled_log_test
