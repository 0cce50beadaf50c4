// SPDX-License-Identifier: BSL-1.0
// Foreign writes to the files of a store: a value that no store writes is refused with a reason,
// and nothing is concluded from it. The fuzzers slot_file and sqlite_store found these.
#include "sqlite/side_folder.hpp"
#include "store/sqlite/slot_file.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace mortise::test::foreign_values_test {
namespace {

using namespace std::chrono_literals;

class SqliteForeignValues : public testing::Test {
protected:
    SqliteForeignValues() {
        EXPECT_EQ(holder.open(), error_code());
        EXPECT_EQ(holder.ask("a").type, answer::kind::granted);
        EXPECT_EQ(holder.ask_for("p", lock_mode::permits(2)).type, answer::kind::granted);
    }

    // Expects that a newcomer is told that this lock, and the list of all locks, are corrupt.
    void expect_corrupt(const std::string& change, const std::string& value) {
        SCOPED_TRACE(change);
        folder.sql("PRAGMA ignore_check_constraints = ON");
        folder.sql(change);
        state_user other(folder.config(), time);
        ASSERT_EQ(other.open(), error_code()) << other.state.explain();
        EXPECT_EQ(other.state.list("", 10, 10).code, errc::store_corrupt);
        EXPECT_NE(other.state.explain().find(value), std::string::npos) << other.state.explain();
        EXPECT_NE(other.state.explain().find("remove the file"), std::string::npos);
    }

    error_code asked(const char* name) {
        state_user other(folder.config(), time);
        EXPECT_EQ(other.open(), error_code()) << other.state.explain();
        other.ask(name);
        return other.asked();
    }

    store_folder folder;
    still_clock time;
    state_user holder{folder.config(), time};
};

TEST_F(SqliteForeignValues, AreRefusedInTheRowsOfLocks) {
    const std::string of_a = " WHERE name = x'61'";
    expect_corrupt("UPDATE entry SET slot = 4294967295" + of_a, "entry.slot = 4294967295");
    expect_corrupt("UPDATE entry SET slot = 0, token = -1" + of_a, "entry.token = -1");
    expect_corrupt("UPDATE entry SET token = 0" + of_a, "entry.token = 0");
    expect_corrupt("UPDATE entry SET token = 1024, mode = 258" + of_a, "entry.mode = 258");
    expect_corrupt("UPDATE entry SET mode = 2" + of_a, "entry.capacity = 0");
    expect_corrupt("UPDATE entry SET mode = 0, since = -9223372036854775808" + of_a, "entry.since");
    expect_corrupt("UPDATE entry SET since = 0, hold_max_ms = 0" + of_a, "entry.hold_max_ms = 0");
    expect_corrupt(
        "UPDATE entry SET hold_max_ms = 9223372036854775806" + of_a,
        "entry.hold_max_ms = 9223372036854775806"
    );
    expect_corrupt("UPDATE entry SET hold_max_ms = 'soon'" + of_a, "entry.hold_max_ms = soon");
}

TEST_F(SqliteForeignValues, AreRefusedToWhoAsksForTheLock) {
    folder.sql("UPDATE entry SET ordinal = 9223372036854775807 WHERE name = x'61'");
    EXPECT_EQ(asked("a"), errc::store_corrupt);
    EXPECT_EQ(asked("b"), error_code()) << "nothing is wrong with the others";
    folder.sql("UPDATE entry SET slot = 65535 WHERE name = x'70'");
    EXPECT_EQ(asked("p"), errc::store_corrupt);
}

// SQLite tells bytes from text, so that such a row would be found for ever and never removed.
TEST_F(SqliteForeignValues, DoNotKeepWhoCleansUpForEver) {
    folder.sql("UPDATE entry SET name = 'a' WHERE name = x'61'");
    state_user other(folder.config(), time);
    ASSERT_EQ(other.open(), error_code());
    time.pass(state_user::ttl);
    ASSERT_EQ(other.beat(), error_code());
    EXPECT_EQ(other.state.reap({}).code, errc::store_corrupt);
}

TEST_F(SqliteForeignValues, AreRefusedInTheMetaRecord) {
    folder.sql("UPDATE meta SET token_next = -1");
    EXPECT_EQ(asked("b"), errc::store_corrupt);
    folder.sql("UPDATE meta SET token_next = 'x'");
    EXPECT_EQ(asked("b"), errc::store_corrupt);
    folder.sql("UPDATE meta SET token_next = 5, token_mark = 9e99");
    EXPECT_EQ(asked("b"), errc::store_corrupt);
    folder.sql("UPDATE meta SET token_mark = 1000000");
    EXPECT_EQ(asked("b"), error_code());
    for (const char* change :
         {"quarantine_until = 9223372036854775807",
          "quarantine_until = 0, format_major = 0",
          "format_major = -1",
          "format_major = 1, domain = 'a#1'",
          "domain = 'a', incarnation = x'00'"}) {
        folder.sql(std::string("UPDATE meta SET ") + change);
        state_user other(folder.config(), time);
        EXPECT_EQ(other.open(), errc::store_corrupt) << change;
    }
}

TEST_F(SqliteForeignValues, AreRefusedInTheRecordOfBrokenLocks) {
    folder.sql("INSERT INTO break_log VALUES(1, 9223372036854775807, x'61', 1024, 0, '', '', '')");
    EXPECT_EQ(holder.state.breaks("", 10).code, errc::store_corrupt);
    folder.sql("UPDATE break_log SET at = 0, slot = 4294967295");
    EXPECT_EQ(holder.state.breaks("", 10).code, errc::store_corrupt);
    folder.sql("UPDATE break_log SET slot = 0");
    EXPECT_EQ(holder.state.breaks("", 10).value.size(), 1u);
}

// A TTL that no session has does not keep others out for longer than the longest.
TEST_F(SqliteForeignValues, DoNotMakeAQuarantineLongerThanASessionLives) {
    folder.sql("UPDATE session SET ttl_ms = 9223372036854775807");
    std::filesystem::remove(folder.side() / "sessions");
    state_user other(folder.config(), time);
    ASSERT_EQ(other.open(), error_code()) << other.state.explain();
    EXPECT_EQ(other.state.quarantine_until(), time.now() + 1h);
    EXPECT_EQ(other.ask("b").type, answer::kind::queued);
}

TEST_F(SqliteForeignValues, AreNoNotesOfAGrant) {
    const auto slot = holder.state.session()->self().slot;
    auto& slots = holder.state.session()->slots();
    for (const store_detail::noted_grant& foreign :
         {store_detail::noted_grant{0, 0, false},
          store_detail::noted_grant{std::uint64_t{1} << 63, 0, false},
          store_detail::noted_grant{1'024, 65'536, false}}) {
        slots.note_grant(slot, 1, foreign);
        EXPECT_FALSE(holder.state.session()->find_grant(1)) << foreign.token << '#' << foreign.slot;
    }
    slots.note_grant(slot, 1, {1'024, 65'535, true});
    EXPECT_TRUE(holder.state.session()->find_grant(1));
}

}  // namespace
}  // namespace mortise::test::foreign_values_test
