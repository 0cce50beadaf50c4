// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/row.hpp"
#include "mortise/error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test::db_row_test {
namespace {

using db::blob;
using db::bound_sql;
using db::column_value;
using db::query_result;
using db::row;

row some_row() {
    static const auto names = std::make_shared<const std::vector<std::string>>(
        std::vector<std::string>{"id", "price", "name", "bytes", "nothing", "id"}
    );
    return row(
        names, {std::int64_t{7}, 2.5, std::string("nail"), blob(std::string("\0\xff", 2)), {}, 1.5}
    );
}

template <class Call>
error_code code_of(Call call) {
    try {
        static_cast<void>(call());
    } catch (const error& why) {
        return why.code();
    }
    return {};
}

TEST(DbRow, HasItsColumnsByNameAndByNumber) {
    const row found = some_row();
    EXPECT_EQ(found.size(), 6u);
    EXPECT_EQ(found.integer("id"), 7);
    EXPECT_EQ(found.integer(0), 7);
    EXPECT_EQ(found.real("price"), 2.5);
    EXPECT_EQ(found.real("id"), 7.0) << "an integer is converted";
    EXPECT_EQ(found.text("name"), "nail");
    EXPECT_EQ(found.bytes("bytes"), std::string("\0\xff", 2));
    EXPECT_TRUE(found.is_null("nothing"));
    EXPECT_FALSE(found.is_null("name"));
    EXPECT_EQ(found.name(1), "price");
    EXPECT_EQ(found.real(5), 1.5) << "the name means the first of two, the number each";
    EXPECT_EQ(found.value("name"), column_value(std::string("nail")));
}

TEST(DbRow, RefusesColumnsThatItDoesNotHaveAndOtherTypes) {
    const row found = some_row();
    EXPECT_EQ(code_of([&] { return found.integer("cost"); }), errc::column_unknown);
    EXPECT_EQ(code_of([&] { return found.integer(6); }), errc::column_unknown);
    EXPECT_EQ(code_of([&] { return found.name(6); }), errc::column_unknown);
    EXPECT_EQ(code_of([&] { return row().is_null("id"); }), errc::column_unknown);
    EXPECT_EQ(code_of([&] { return found.integer("price"); }), errc::column_type);
    EXPECT_EQ(code_of([&] { return found.real("name"); }), errc::column_type);
    EXPECT_EQ(code_of([&] { return found.text("bytes"); }), errc::column_type);
    EXPECT_EQ(code_of([&] { return found.bytes("name"); }), errc::column_type);
    EXPECT_EQ(code_of([&] { return found.integer("nothing"); }), errc::column_type);
}

TEST(DbRow, KnowsWhatWasChangedAndSharesNothingWithItsCopies) {
    row draft = some_row();
    const row before = draft;
    EXPECT_FALSE(draft.changed());
    draft.set("price", 3.5);
    EXPECT_TRUE(draft.changed());
    EXPECT_TRUE(draft.changed(1));
    EXPECT_FALSE(draft.changed(0));
    EXPECT_EQ(draft.real("price"), 3.5);
    EXPECT_EQ(before.real("price"), 2.5);
    EXPECT_FALSE(before.changed(1));
    EXPECT_EQ(code_of([&] { return draft.set("cost", 1), 0; }), errc::column_unknown);
}

TEST(DbRow, AResultWithoutRowsHasNoFirst) {
    EXPECT_EQ(code_of([] { return query_result().first(); }), errc::row_missing);
    const query_result found({some_row()}, 1);
    EXPECT_EQ(found.first().integer("id"), 7);
    EXPECT_FALSE(found.empty());
}

TEST(DbBoundSql, RefusesAnUnsignedIntegerThatWouldBecomeNegative) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(
        bound_sql("", most).values.at(0), column_value(std::numeric_limits<std::int64_t>::max())
    );
    EXPECT_EQ(code_of([] { return bound_sql("", most + 1); }), errc::value_refused);
    EXPECT_EQ(code_of([] { return bound_sql("", std::optional(most + 1)); }), errc::value_refused);
    EXPECT_EQ(
        bound_sql("", std::uint32_t{4'294'967'295}).values.at(0), column_value(4'294'967'295)
    );
}

TEST(DbBoundSql, TakesEveryKindOfValue) {
    const std::string text = "a";
    const bound_sql statement(
        "SELECT ...",
        1,
        std::numeric_limits<std::int64_t>::min(),
        true,
        0.5f,
        "literal",
        text,
        std::string_view("zero\0byte", 9),
        blob(std::string(1, '\0')),
        nullptr,
        std::optional<int>(),
        std::optional<std::string>("there"),
        column_value(2.5)
    );
    const std::vector<column_value> expected = {
        std::int64_t{1},
        std::numeric_limits<std::int64_t>::min(),
        std::int64_t{1},
        0.5,
        std::string("literal"),
        std::string("a"),
        std::string("zero\0byte", 9),
        blob(std::string(1, '\0')),
        {},
        {},
        std::string("there"),
        2.5};
    EXPECT_EQ(statement.values, expected);
    EXPECT_EQ(statement.text, "SELECT ...");
    EXPECT_EQ(bound_sql("SELECT $1", expected).values, expected);
    EXPECT_TRUE(bound_sql("SELECT 1").values.empty());
}

}  // namespace
}  // namespace mortise::test::db_row_test
