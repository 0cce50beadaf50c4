// SPDX-License-Identifier: BSL-1.0
// Heartbeats in a mapped file: the rules for swapping words, and files that are not believed.
#include "mortise/error.hpp"
#include "sqlite/side_folder.hpp"
#include "store/sqlite/slot_file.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace mortise::test::slot_file_test {
namespace {

using namespace std::chrono_literals;
using sqlite_detail::side_folder;
using sqlite_detail::whereabouts;
using store_detail::slot_file;
using store_detail::slot_file_owner;
using store_detail::slot_word;

clock::time_point at(std::chrono::milliseconds since_boot) {
    return clock::time_point(since_boot);
}

class SlotFile : public testing::Test {
protected:
    SlotFile() {
        owner.store = {1, 2};
        owner.database = {3, 4};
        owner.boot = "11111111-2222-3333-4444-555555555555";
        owner.time_namespace = 5;
    }

    slot_file::found reopened(const slot_file_owner& who) {
        auto state = slot_file::found::none;
        slot_file::open(side, who, state);
        return state;
    }

    store_folder folder;
    side_folder side{folder.database().string()};
    slot_file_owner owner;
};

TEST(SlotWord, KeepsIncarnationAndDeadline) {
    const slot_word word(7, slot_word::microseconds_until(at(1500ms)));
    EXPECT_EQ(word.incarnation(), 7);
    EXPECT_EQ(word.deadline(), at(1500ms));
    EXPECT_FALSE(word.dead());
    EXPECT_FALSE(word.expired(at(1499ms)));
    EXPECT_TRUE(word.expired(at(1500ms)));
    EXPECT_TRUE(word.killed().dead());
    EXPECT_EQ(word.killed().incarnation(), 7);
    EXPECT_EQ(slot_word(0xffff, 9).next(1).incarnation(), 0);
}

TEST(SlotWord, RoundsUpAndNeverMeansDeathByChance) {
    EXPECT_EQ(
        slot_word::microseconds_until(clock::time_point(std::chrono::nanoseconds(1'001))), 2u
    );
    EXPECT_EQ(slot_word::microseconds_until(clock::time_point()), 1u);
    const auto far = slot_word::microseconds_until(clock::time_point::max());
    EXPECT_FALSE(slot_word(1, far).dead());
    EXPECT_EQ(slot_word(1, far).incarnation(), 1);
}

TEST_F(SlotFile, BeginsEmptyAndIsFoundAgain) {
    EXPECT_EQ(reopened(owner), slot_file::found::none);
    const auto file = slot_file::make(side, owner);
    EXPECT_EQ(file->used(), 0u);
    EXPECT_TRUE(file->word(0).dead());
    EXPECT_EQ(reopened(owner), slot_file::found::good);
}

TEST_F(SlotFile, OnlyOneOfOwnerAndTakerWins) {
    const auto file = slot_file::make(side, owner);
    file->claim(3, 77, 88);
    const slot_word first = file->word(3).next(1'000);
    ASSERT_TRUE(file->swap(3, file->word(3), first));
    const slot_word later(first.incarnation(), 2'000);
    ASSERT_TRUE(file->swap(3, first, later));  // the owner extends
    EXPECT_FALSE(file->swap(3, first, first.killed())) << "a taker that saw the older deadline";
    ASSERT_TRUE(file->swap(3, later, later.killed()));
    EXPECT_FALSE(file->swap(3, later, slot_word(first.incarnation(), 3'000))) << "dead for ever";
    EXPECT_TRUE(file->word(3).dead());
}

TEST_F(SlotFile, KillMeansOneLifeOnly) {
    const auto file = slot_file::make(side, owner);
    file->claim(0, 1, 2);
    const slot_word first = file->word(0).next(1'000);
    ASSERT_TRUE(file->swap(0, file->word(0), first));
    EXPECT_TRUE(file->kill(0, static_cast<std::uint16_t>(first.incarnation() - 1)));
    EXPECT_FALSE(file->word(0).dead()) << "that one was dead already; this one lives";
    EXPECT_TRUE(file->kill(0, first.incarnation()));
    EXPECT_TRUE(file->word(0).dead());
}

TEST_F(SlotFile, TwoMappingsSeeTheSame) {
    const auto one = slot_file::make(side, owner);
    auto state = slot_file::found::none;
    const auto other = slot_file::open(side, owner, state);
    ASSERT_TRUE(other);
    one->claim(5, 50, 51);
    one->add(5, 2, 3, 4);
    one->add(5, -1, 0, 1);
    const auto seen = other->view(5);
    EXPECT_EQ(other->used(), 6u);
    EXPECT_EQ(seen.key, 50u);
    EXPECT_EQ(seen.nonce, 51u);
    EXPECT_EQ(seen.grants, 1u);
    EXPECT_EQ(seen.requests, 3u);
    EXPECT_EQ(seen.changes, 5u);
    other->claim(5, 60, 61);
    EXPECT_EQ(one->view(5).grants, 0u) << "a new owner begins at nothing";
}

TEST_F(SlotFile, SaysWhenTheFirstGrantEnds) {
    const auto file = slot_file::make(side, owner);
    file->claim(1, 7, 8);
    EXPECT_EQ(file->view(1).ends, clock::time_point()) << "none does";
    file->set_ends(1, at(1500ms));
    EXPECT_EQ(file->view(1).ends, at(1500ms));
    file->free(1);
    EXPECT_EQ(file->view(1).ends, clock::time_point());
}

TEST_F(SlotFile, NotesTheLastGrantUntilItIsForgotten) {
    const auto file = slot_file::make(side, owner);
    file->claim(1, 7, 8);
    EXPECT_FALSE(file->find_grant(1, 0));
    file->note_grant(1, 5, {1'024, 65'535, true});
    file->note_grant(1, 6, {2'048, 3, false});
    EXPECT_FALSE(file->find_grant(1, 5)) << "only the last one";
    const auto noted = file->find_grant(1, 6);
    ASSERT_TRUE(noted);
    EXPECT_EQ(noted->token, 2'048u);
    EXPECT_EQ(noted->slot, 3u);
    EXPECT_FALSE(noted->contended);
    file->note_grant(1, 7, {4'096, 65'535, true});
    EXPECT_EQ(file->find_grant(1, 7)->slot, 65'535u);
    EXPECT_TRUE(file->find_grant(1, 7)->contended);
    file->forget_grant(1, 6);
    EXPECT_TRUE(file->find_grant(1, 7));
    file->note_grant(1, 7, {4'096, 65'535, false});
    file->note_contended(1, 6);
    EXPECT_FALSE(file->find_grant(1, 7)->contended) << "another grant's";
    file->note_contended(1, 7);
    EXPECT_TRUE(file->find_grant(1, 7)->contended);
    EXPECT_EQ(file->find_grant(1, 7)->slot, 65'535u);
    file->forget_grant(1, 7);
    EXPECT_FALSE(file->find_grant(1, 7));
}

TEST_F(SlotFile, AChangeDisarmsAllWhoWatch) {
    const auto file = slot_file::make(side, owner);
    for (const std::size_t i : {1u, 2u, 3u})
        file->claim(i, i, i);
    file->count_change();
    EXPECT_TRUE(file->disarm_all().empty());
    file->arm(1);
    file->arm(3);
    EXPECT_FALSE(file->stirred(1));
    file->count_change();
    EXPECT_TRUE(file->stirred(1)) << "to be found though nobody told it";
    EXPECT_TRUE(file->armed(1));
    EXPECT_EQ(file->disarm_all(), (std::vector<std::size_t>{1, 3}));
    EXPECT_FALSE(file->armed(1));
    EXPECT_TRUE(file->stirred(1));
    EXPECT_TRUE(file->disarm_all().empty());
    file->arm(1);
    EXPECT_FALSE(file->stirred(1)) << "what was before does not count";
    file->free(1);
    EXPECT_TRUE(file->disarm_all().empty()) << "it left";
}

TEST_F(SlotFile, IsNotBelievedIfItBelongsElsewhere) {
    slot_file::make(side, owner);
    auto other = owner;
    other.store = {1, 3};
    EXPECT_EQ(reopened(other), slot_file::found::other_database);
    other = owner;
    other.database.inode = 5;
    EXPECT_EQ(reopened(other), slot_file::found::other_database);
    other = owner;
    other.boot.back() = '6';
    EXPECT_EQ(reopened(other), slot_file::found::other_boot);
    other = owner;
    other.boot.pop_back();
    EXPECT_EQ(reopened(other), slot_file::found::other_boot);
    other = owner;
    other.time_namespace = 6;
    EXPECT_EQ(reopened(other), slot_file::found::other_clock);
}

TEST_F(SlotFile, IsNotBelievedIfItIsCutOrNotOurs) {
    slot_file::make(side, owner);
    const auto path = folder.side() / "sessions";
    const auto whole = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, whole - 64);
    EXPECT_EQ(reopened(owner), slot_file::found::none);
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(reopened(owner), slot_file::found::none);
    std::filesystem::resize_file(path, whole);
    EXPECT_EQ(reopened(owner), slot_file::found::none) << "zeros are no header";
    slot_file::make(side, owner);
    EXPECT_EQ(reopened(owner), slot_file::found::good);
}

TEST_F(SlotFile, HasItsBlocksBeforeItIsMapped) {
    slot_file::make(side, owner);
    struct stat found {};
    ASSERT_EQ(::stat((folder.side() / "sessions").c_str(), &found), 0);
    EXPECT_GE(found.st_blocks * 512, found.st_size) << "a hole can raise SIGBUS on a full disk";
    EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(SlotFile, NoticesThatItsNameLeadsElsewhere) {
    const auto file = slot_file::make(side, owner);
    EXPECT_EQ(file->where(side), whereabouts::same);
    slot_file::make(side, owner);
    EXPECT_EQ(file->where(side), whereabouts::other);
    std::filesystem::remove(folder.side() / "sessions");
    EXPECT_EQ(file->where(side), whereabouts::other);
}

}  // namespace
}  // namespace mortise::test::slot_file_test
