// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/error.hpp"
#include "relay/lineage.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mortise::test::lineage_test {
namespace {

using outbox::errc;
using outbox::mark;
using outbox::opening;
using outbox::detail::judge;
using outbox::table::mark_place;
using outbox::table::shadow;

mark at(std::uint64_t sequence, std::int64_t row, std::string message = "") {
    mark result;
    result.table = "t";
    result.shard = 1;
    result.sequence = sequence;
    result.row = row;
    result.message = std::move(message);
    return result;
}

shadow known(mark last, std::string sink = "s") {
    shadow result;
    result.last = std::move(last);
    result.sink = std::move(sink);
    return result;
}

mark_place seen(std::optional<std::string> message, std::int64_t last_row = 20) {
    mark_place result;
    result.message = std::move(message);
    result.last_row = last_row;
    return result;
}

opening found(std::optional<mark> last, std::string identity = "s") {
    opening result;
    result.last = std::move(last);
    result.identity = std::move(identity);
    return result;
}

TEST(OutboxLineage, BeginsWithAnEmptySink) {
    const auto judgement = judge(known(at(0, 0), ""), found(std::nullopt), seen(std::nullopt));
    EXPECT_FALSE(judgement.refused);
    EXPECT_FALSE(judgement.mark_lost);
    EXPECT_EQ(judgement.start, at(0, 0));
}

TEST(OutboxLineage, GoesOnAfterTheSinksMark) {
    const auto judgement = judge(known(at(3, 10, "a")), found(at(5, 20, "b")), seen("b"));
    EXPECT_FALSE(judgement.refused);
    EXPECT_EQ(judgement.start, at(5, 20, "b"));
    // Also where the table has never purged.
    EXPECT_EQ(judge(known(at(0, 0), ""), found(at(5, 20, "b")), seen("b")).start, at(5, 20, "b"));
}

TEST(OutboxLineage, KnowsAMarkBeforeTheFirstMessage) {
    const auto judgement = judge(known(at(0, 0), ""), found(at(1, 0)), seen(std::nullopt));
    EXPECT_FALSE(judgement.refused);
    EXPECT_EQ(judgement.start, at(1, 0));
}

TEST(OutboxLineage, NoticesAnOldCopyOfTheDatabase) {
    EXPECT_EQ(
        judge(known(at(3, 10, "a")), found(at(5, 20, "b")), seen(std::nullopt)).refused,
        errc::restored
    );
    EXPECT_EQ(
        judge(known(at(3, 10, "a")), found(at(5, 20, "b")), seen("c")).refused, errc::restored
    );
    auto newer = at(5, 20, "b");
    newer.generation = 1;
    EXPECT_EQ(judge(known(at(3, 10, "a")), found(newer), seen("b")).refused, errc::restored);
}

TEST(OutboxLineage, NoticesAnOldCopyByAMarkWithoutAMessage) {
    // The shard was made anew, further in front: nothing after its row was sent.
    EXPECT_EQ(
        judge(known(at(0, 200), ""), found(at(1, 500)), seen(std::nullopt, 200)).refused,
        errc::restored
    );
    // Also when the rows have come to the mark again, or the table knows of a message.
    EXPECT_EQ(
        judge(known(at(0, 200), ""), found(at(1, 500)), seen(std::nullopt, 800)).refused,
        errc::restored
    );
    EXPECT_EQ(judge(known(at(3, 10, "a")), found(at(5, 10)), seen("a")).refused, errc::restored);
}

TEST(OutboxLineage, NoticesAMarkAboveTheLastRow) {
    EXPECT_EQ(
        judge(known(at(3, 10, "a")), found(at(5, 20, "b")), seen("b", 19)).refused, errc::restored
    );
}

TEST(OutboxLineage, NoticesThatTheShardIsOfAnotherLayout) {
    auto ours = at(0, 10);
    ours.layout = "one";
    auto last = at(1, 10);
    last.layout = "other";
    EXPECT_EQ(judge(known(ours, ""), found(last), seen(std::nullopt)).refused, errc::restored);
    EXPECT_EQ(judge(known(at(0, 10), ""), found(last), seen(std::nullopt)).refused, errc::restored);
    EXPECT_EQ(judge(known(ours, ""), found(at(1, 10)), seen(std::nullopt)).refused, errc::restored);
    last.layout = "one";
    EXPECT_EQ(judge(known(ours, ""), found(last), seen(std::nullopt)).start, last);
    // The decision of an operator counts.
    ours.generation = 1;
    last.layout = "other";
    const auto judgement = judge(known(ours, ""), found(last), seen(std::nullopt));
    EXPECT_FALSE(judgement.refused);
    EXPECT_EQ(judgement.start.layout, "one");
}

TEST(OutboxLineage, NoticesAnotherSink) {
    EXPECT_EQ(
        judge(known(at(3, 10, "a")), found(at(3, 10, "a"), "other"), seen("a")).refused,
        errc::foreign_sink
    );
    EXPECT_EQ(
        judge(known(at(3, 10, "a")), found(std::nullopt, "other"), seen("a")).refused,
        errc::foreign_sink
    );
    auto foreign = at(3, 10, "a");
    foreign.table = "u";
    EXPECT_EQ(judge(known(at(3, 10, "a")), found(foreign), seen("a")).refused, errc::foreign_mark);
    foreign = at(3, 10, "a");
    foreign.shard = 2;
    EXPECT_EQ(judge(known(at(3, 10, "a")), found(foreign), seen("a")).refused, errc::foreign_mark);
}

TEST(OutboxLineage, KnowsASinkByItsOlderName) {
    auto renamed = found(at(3, 10, "a"), "s?prefix=p");
    renamed.older_identity = "s";
    EXPECT_FALSE(judge(known(at(3, 10, "a")), renamed, seen("a")).refused);
    EXPECT_EQ(
        judge(known(at(3, 10, "a"), "s?prefix=q"), renamed, seen("a")).refused, errc::foreign_sink
    );
}

TEST(OutboxLineage, GoesOnAfterTheTablesMarkIfTheSinkForgot) {
    for (const auto& forgetful : {found(std::nullopt), found(at(2, 5, "z"))}) {
        const auto judgement = judge(known(at(3, 10, "a")), forgetful, seen("z"));
        EXPECT_FALSE(judgement.refused);
        EXPECT_TRUE(judgement.mark_lost);
        EXPECT_EQ(judgement.start, at(3, 10, "a"));
    }
}

TEST(OutboxLineage, RefusesAMarkThatCannotBeReadUntilAnOperatorHasDecided) {
    auto spoiled = found(std::nullopt);
    spoiled.unreadable = errc::bad_file;
    spoiled.unreadable_text = "nonsense";
    for (const shadow& before : {known(at(0, 0), ""), known(at(3, 10, "a"))}) {
        const auto judgement = judge(before, spoiled, seen(std::nullopt));
        EXPECT_EQ(judgement.refused, errc::bad_file);
        EXPECT_EQ(judgement.text, "nonsense");
    }
    auto decided = known(at(3, 7), "");
    decided.last.generation = 1;
    const auto judgement = judge(decided, spoiled, seen(std::nullopt));
    EXPECT_FALSE(judgement.refused);
    EXPECT_FALSE(judgement.mark_lost);
    EXPECT_EQ(judgement.start.row, 7);
    // Something was sent since, and its mark is not there.
    decided.sink = "s";
    EXPECT_EQ(judge(decided, spoiled, seen(std::nullopt)).refused, errc::bad_file);
}

TEST(OutboxLineage, FollowsTheOperator) {
    auto decided = known(at(5, 7), "");
    decided.last.generation = 2;
    const auto judgement = judge(decided, found(at(9, 20, "b"), "any"), seen(std::nullopt));
    EXPECT_FALSE(judgement.refused);
    EXPECT_FALSE(judgement.mark_lost);
    EXPECT_EQ(judgement.start.row, 7);
    EXPECT_EQ(judgement.start.generation, 2u);
    EXPECT_EQ(judgement.start.sequence, 9u);
}

}  // namespace
}  // namespace mortise::test::lineage_test
