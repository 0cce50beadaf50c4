// SPDX-License-Identifier: BSL-1.0
// The records of the log, and the names of transactions.
#include "log/plan.hpp"
#include "log/record_format.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/gid.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace mortise::txn::log::records_test {
namespace {

plan some_plan() {
    plan plan;
    plan.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    plan.locks.emplace_back("sku:42", fencing_token{1'234'567, *token_domain::parse("locks")});
    plan.branches.resize(3);
    plan.branches[0].participant = "stock";
    plan.branches[0].payload = std::string("\0two\xff", 5);
    plan.branches[1].participant = "wallet";
    plan.branches[2].participant = "stock";
    plan.branches[2].after = {1, 2};
    return plan;
}

progress some_progress() {
    progress progress;
    progress.branches.resize(2);
    progress.branches[0].finished = true;
    progress.branches[1].stuck = true;
    call_view one;
    one.type = operation::confirm;
    one.attempt = 3;
    one.epoch = std::numeric_limits<std::uint64_t>::max();
    one.begun = std::chrono::microseconds(12);
    one.took = std::chrono::microseconds(1'000'000);
    one.result = call_view::verdict::failed;
    one.text = "no answer";
    progress.note(2, one);
    return progress;
}

TEST(TxnRecords, AreReadAsTheyWereWritten) {
    EXPECT_EQ(plan::decode(some_plan().encode()), some_plan());
    EXPECT_EQ(progress::decode(some_progress().encode()), some_progress());
    EXPECT_EQ(progress::decode(progress().encode()), progress());
}

TEST(TxnRecords, NumbersOfEverySizeAreRead) {
    for (unsigned shift = 0; shift < 64; ++shift) {
        for (const std::uint64_t value :
             {(std::uint64_t{1} << shift) - 1,
              std::uint64_t{1} << shift,
              ~std::uint64_t{0} >> shift}) {
            record_writer to;
            to.number(value);
            const auto bytes = to.take();
            record_reader from(bytes);
            EXPECT_EQ(from.number(), value);
            EXPECT_TRUE(from.done());
        }
    }
}

// A record that is cut off anywhere, or longer than it should be, is none.
TEST(TxnRecords, ThatAreTornAreRefused) {
    for (const auto& whole : {some_plan().encode(), some_progress().encode()}) {
        for (std::size_t size = 0; size < whole.size(); ++size) {
            EXPECT_FALSE(plan::decode(whole.substr(0, size))) << size;
            EXPECT_FALSE(progress::decode(whole.substr(0, size))) << size;
        }
        EXPECT_FALSE(plan::decode(whole + '\0'));
        EXPECT_FALSE(progress::decode(whole + '\0'));
    }
}

TEST(TxnRecords, OfAnotherVersionAreRefused) {
    auto record = some_plan().encode();
    ++record[0];
    EXPECT_FALSE(plan::decode(record));
    record = some_progress().encode();
    ++record[0];
    EXPECT_FALSE(progress::decode(record));
}

TEST(TxnRecords, APlanWithoutBranchesOrWithAWrongOrderIsNone) {
    EXPECT_FALSE(plan::decode(plan().encode()));
    auto wrong = some_plan();
    wrong.branches[1].after = {2};
    EXPECT_FALSE(plan::decode(wrong.encode())) << "after itself";
    wrong.branches[1].after = {0};
    EXPECT_FALSE(plan::decode(wrong.encode()));
}

TEST(TxnRecords, OnlyTheNewestCallsAreKept) {
    progress progress;
    progress.branches.resize(1);
    for (std::uint32_t i = 1; i <= 100; ++i) {
        call_view one;
        one.attempt = i;
        progress.note(1, one);
    }
    EXPECT_EQ(progress.branches[0].calls, 100u);
    EXPECT_EQ(progress.branches[0].newest.size(), 16u);
    EXPECT_EQ(progress.branches[0].newest.front().attempt, 85u);
    EXPECT_EQ(progress.branches[0].newest.back().attempt, 100u);
}

TEST(TxnGid, IsReadAsItWasWritten) {
    const gid id{0x5f0c'3a9b'e1d2'7746, 42};
    EXPECT_EQ(id.text(), "5f0c3a9be1d27746-42");
    EXPECT_EQ(gid::parse(id.text()), id);
    const gid last{0, 0x7fff'ffff'ffff'ffff};
    EXPECT_EQ(gid::parse(last.text()), last);
}

TEST(TxnGid, HasOneSpelling) {
    for (const char* wrong :
         {"",
          "-",
          "5f0c3a9be1d27746",
          "5f0c3a9be1d27746-",
          "5f0c3a9be1d27746-0",
          "5f0c3a9be1d27746-042",
          "5F0C3A9BE1D27746-42",
          "5f0c3a9be1d2774-42",
          "5f0c3a9be1d27746-42 ",
          "5f0c3a9be1d27746--42",
          "5f0c3a9be1d27746-9223372036854775808",
          "+f0c3a9be1d27746-42"})
        EXPECT_FALSE(gid::parse(wrong)) << wrong;
}

TEST(TxnError, SaysWhatMaySucceedLaterAndWhatNever) {
    using txn::errc;
    for (const errc each :
         {errc::no_answer,
          errc::deadline,
          errc::lock_lost,
          errc::interrupted,
          errc::standby,
          errc::too_many_open,
          errc::call_failed,
          errc::call_too_late}) {
        EXPECT_EQ(error_code(each), condition::retryable) << error_code(each).message();
        EXPECT_NE(error_code(each), condition::bad_argument);
    }
    for (const errc each :
         {errc::no_branches,
          errc::too_many_branches,
          errc::unknown_participant,
          errc::payload_too_large,
          errc::bad_order,
          errc::bad_key,
          errc::key_reused,
          errc::bad_gid}) {
        EXPECT_EQ(error_code(each), condition::bad_argument) << error_code(each).message();
        EXPECT_NE(error_code(each), condition::retryable);
    }
    // Another run could do it twice, or never succeeds.
    for (const errc each :
         {errc::refused,
          errc::withdrawn,
          errc::forced,
          errc::stepped_down,
          errc::stopped,
          errc::newer_log,
          errc::conflict,
          errc::late_try}) {
        EXPECT_NE(error_code(each), condition::retryable) << error_code(each).message();
        EXPECT_NE(error_code(each), condition::bad_argument);
    }
}

}  // namespace
}  // namespace mortise::txn::log::records_test
