// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::error_test {
namespace {

struct classes {
    errc code;
    bool not_held;
    bool retryable;
    bool bad_argument;
};

// Every code, in the order of their values.
const std::vector<classes>& every_code() {
    static const std::vector<classes> all = {
        {errc::busy, false, true, false},
        {errc::lease_lost, true, false, false},
        {errc::lease_expired, true, false, false},
        {errc::lease_released, true, false, false},
        {errc::outcome_unknown, false, true, false},
        {errc::client_stopped, true, false, false},
        {errc::session_lost, true, true, false},
        {errc::too_many_waiters, false, true, false},
        {errc::forked, true, false, false},
        {errc::capacity_differs, false, false, false},
        {errc::upgrade_refused, false, false, false},
        {errc::outer_lease_lost, true, false, false},
        {errc::too_many_holds, false, false, false},
        {errc::stale_token, true, false, false},
        {errc::foreign_domain, false, false, false},
        {errc::no_token, false, false, false},
        {errc::no_transaction, false, false, false},
        {errc::name_empty, false, false, true},
        {errc::names_missing, false, false, true},
        {errc::name_too_long, false, false, true},
        {errc::duration_negative, false, false, true},
        {errc::duration_too_long, false, false, true},
        {errc::ttl_too_short, false, false, true},
        {errc::ttl_too_long, false, false, true},
        {errc::bad_mode, false, false, true},
        {errc::bad_config, false, false, true},
        {errc::unknown_scheme, false, false, true},
        {errc::bad_url, false, false, true},
        {errc::unsupported, false, false, true},
        {errc::store_unavailable, false, true, false},
        {errc::store_full, false, true, false},
        {errc::store_corrupt, false, false, false},
        {errc::store_replaced, false, false, false},
        {errc::not_a_database, false, false, false},
        {errc::not_a_store, false, false, false},
        {errc::not_writable, false, false, false},
        {errc::several_names, false, false, false},
        {errc::too_many_files, false, true, false},
        {errc::network_file_system, false, false, false},
        {errc::newer_format, false, false, false},
        {errc::foreign_time_namespace, false, false, false},
        {errc::too_many_sessions, false, true, false},
        {errc::access_denied, false, false, false},
        {errc::wrong_server, false, false, false},
        {errc::untrusted_server, false, false, false},
        {errc::read_only_server, false, true, false},
        {errc::server_loading, false, true, false},
        {errc::server_busy, false, true, false},
        {errc::unsafe_server, false, false, false},
        {errc::not_enough_replicas, false, true, false},
        {errc::quarantined, false, true, false},
        {errc::database_busy, false, true, false},
        {errc::rolled_back, false, true, false},
        {errc::transaction_control, false, false, false},
        {errc::commit_unknown, false, false, false},
        {errc::poisoned, false, false, false},
        {errc::row_missing, false, false, false},
        {errc::contended, false, true, false},
        {errc::column_unknown, false, false, false},
        {errc::column_type, false, false, false},
        {errc::value_refused, false, false, false},
        {errc::no_connection_free, false, true, false},
        {errc::row_busy, false, true, false},
    };
    return all;
}

std::string default_message() {
    return error_category().message(9'999);
}

TEST(LockError, TheTableHasEveryCodeOnce) {
    int value = 0;
    for (const auto& row : every_code())
        EXPECT_EQ(static_cast<int>(row.code), ++value);
    EXPECT_EQ(error_category().message(value + 1), default_message())
        << "a code was added: say in the table what it is";
    EXPECT_EQ(error_category().message(0), default_message()) << "zero is no error";
}

TEST(LockError, EveryCodeHasAMessageOfItsOwn) {
    std::set<std::string> messages = {default_message()};
    for (const auto& row : every_code()) {
        const std::string message = error_code(row.code).message();
        EXPECT_GT(message.size(), 10u);
        EXPECT_TRUE(messages.insert(message).second) << message;
    }
}

TEST(LockError, EveryCodeBelongsToItsClasses) {
    for (const auto& row : every_code()) {
        const error_code code = row.code;
        EXPECT_EQ(code == condition::not_held, row.not_held) << code.message();
        EXPECT_EQ(code == condition::retryable, row.retryable) << code.message();
        EXPECT_EQ(code == condition::bad_argument, row.bad_argument) << code.message();
    }
}

TEST(LockError, ARowThatIsHeldIsACondition) {
    for (const auto& row : every_code()) {
        const bool held = row.code == errc::row_busy || row.code == errc::database_busy;
        EXPECT_EQ(error_code(row.code) == condition::row_held, held) << error_code(row.code);
    }
}

TEST(LockError, CodesOfOtherCategoriesBelongToNoClass) {
    const error_code others[] = {
        {},
        boost::asio::error::operation_aborted,
        {static_cast<int>(errc::name_empty), boost::system::generic_category()},
        {static_cast<int>(errc::lease_lost), boost::system::system_category()},
        {9'999, error_category()},
    };
    for (const auto& code : others) {
        EXPECT_FALSE(code == condition::not_held) << code;
        EXPECT_FALSE(code == condition::retryable) << code;
        EXPECT_FALSE(code == condition::bad_argument) << code;
    }
}

TEST(LockError, ConditionsHaveMessagesOfTheirOwn) {
    std::set<std::string> messages = {condition_category().message(0)};
    for (const auto each :
         {condition::not_held, condition::retryable, condition::bad_argument, condition::row_held})
        EXPECT_TRUE(messages.insert(make_error_condition(each).message()).second);
    EXPECT_STREQ(condition_category().name(), "mortise.condition");
}

TEST(LockError, ThereIsOneCategory) {
    EXPECT_EQ(&error_category(), &error_category());
    EXPECT_EQ(&make_error_code(errc::busy).category(), &error_category());
    EXPECT_EQ(&make_error_condition(condition::not_held).category(), &condition_category());
    EXPECT_STREQ(error_category().name(), "mortise");
    EXPECT_NE(error_code(errc::busy), error_code(1, boost::system::generic_category()));
    EXPECT_EQ(error_code(errc::busy), errc::busy);
    EXPECT_TRUE(error_code(errc::busy).failed());
}

TEST(LockError, CanBeUsedWhereTheStandardCodeIsWanted) {
    const std::error_code standard = error_code(errc::busy);
    EXPECT_EQ(standard.value(), static_cast<int>(errc::busy));
    EXPECT_STREQ(standard.category().name(), "mortise");
    EXPECT_EQ(standard.message(), error_code(errc::busy).message());
}

TEST(LockError, SaysTheValueAndTheRemedy) {
    const error wrong(errc::bad_config, "waiters_max = 0", "use at least 1");
    EXPECT_EQ(wrong.code(), errc::bad_config);
    EXPECT_EQ(wrong.value(), "waiters_max = 0");
    EXPECT_EQ(wrong.remedy(), "use at least 1");
    const std::string message = error_code(errc::bad_config).message();
    EXPECT_EQ(wrong.what(), message + ": waiters_max = 0; use at least 1");
}

TEST(LockError, LeavesOutWhatIsEmpty) {
    const std::string message = error_code(errc::busy).message();
    EXPECT_EQ(error(errc::busy, "", "").what(), message);
    EXPECT_EQ(error(errc::busy, "x", "").what(), message + ": x");
    EXPECT_EQ(error(errc::busy, "", "wait").what(), message + "; wait");
}

TEST(LockError, IsASystemErrorThatKeepsItsText) {
    try {
        const error thrown(errc::busy, "lock \"x\"", "wait longer");
        throw error(thrown);
    } catch (const boost::system::system_error& caught) {
        EXPECT_EQ(caught.code(), errc::busy);
        EXPECT_NE(std::string(caught.what()).find("lock \"x\"; wait longer"), std::string::npos);
    }
}

}  // namespace
}  // namespace mortise::error_test
