// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/lock_state.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::test::lock_state_test {
namespace {

using store_detail::lock_state;
using store_detail::node_prefix;

constexpr session_id alice{1, 2};
constexpr session_id bob{3, 4};
constexpr lock_mode writer = lock_mode::exclusive();
constexpr lock_mode reader = lock_mode::shared();

std::string node(const session_id& session, request_id request, lock_mode mode, int number) {
    std::string digits = std::to_string(number);
    if (digits.size() < 10)
        digits.insert(0, 10 - digits.size(), '0');
    return node_prefix(session, request, mode) + digits;
}

TEST(LockState, TheFirstHoldsTheLockAlone) {
    const lock_state state({node(bob, 1, writer, 7), node(alice, 1, writer, 6)}, "", 0);
    EXPECT_EQ(state.place_of(alice, 1), 0u);
    EXPECT_EQ(state.place_of(bob, 1), 1u);
    EXPECT_EQ(state.place_of(bob, 2), 2u) << "it is not there";
    EXPECT_TRUE(state.holds(0));
    EXPECT_FALSE(state.holds(1));
    EXPECT_TRUE(state.due().empty());
    EXPECT_TRUE(state.others_wait(alice));
    EXPECT_FALSE(state.others_wait(bob));
    EXPECT_TRUE(state.all_exclusive());
}

TEST(LockState, KeepsTheOrderWhenNumbersWrapAround) {
    const lock_state state(
        {node(bob, 1, writer, -2147483648), node(alice, 1, writer, 2147483647)}, "", 0
    );
    EXPECT_EQ(state.place_of(alice, 1), 0u);
}

TEST(QueueNode, IsNearTheEndLongBeforeTheServersRepeatNumbers) {
    const auto near_the_end = [](std::int64_t number) {
        const auto parsed =
            store_detail::parse_queue_node(node(alice, 1, writer, static_cast<std::int32_t>(number))
            );
        return parsed && parsed->is_near_the_end();
    };
    EXPECT_FALSE(near_the_end(0));
    EXPECT_FALSE(near_the_end((1LL << 31) - (1LL << 20) - 1));
    EXPECT_TRUE(near_the_end((1LL << 31) - (1LL << 20)));
    EXPECT_TRUE(near_the_end((1LL << 31) - 1));
    EXPECT_TRUE(near_the_end(-2147483648LL));
}

TEST(LockState, GrantsToReadersUpToTheNextWriterAndGivesThemOneToken) {
    lock_state state(
        {node(alice, 1, reader, 1),
         node(bob, 1, reader, 2),
         node(alice, 2, writer, 3),
         node(bob, 2, reader, 4)},
        "",
        0
    );
    EXPECT_FALSE(state.holds(0)) << "it is not written";
    const auto due = state.due();
    ASSERT_EQ(due.size(), 2u);
    EXPECT_TRUE(due[0].begins_phase);
    EXPECT_FALSE(due[1].begins_phase);
    state.grant(due[0], 77);
    state.grant(due[1], 0);
    EXPECT_EQ(state.phase(), 77u);
    EXPECT_TRUE(state.holds(1));
    EXPECT_TRUE(state.due().empty());
    const lock_state again(
        {node(bob, 1, reader, 2), node(bob, 3, reader, 5)}, state.text(), state.version()
    );
    EXPECT_EQ(again.phase(), 77u) << "a reader of the phase is there";
    ASSERT_EQ(again.due().size(), 1u);
    EXPECT_FALSE(again.due()[0].begins_phase);
}

TEST(LockState, APhaseEndsWithItsLastReader) {
    lock_state state({node(alice, 1, reader, 1)}, "77 1:0", 3);
    EXPECT_EQ(state.phase(), 77u);
    state.remove(0);
    EXPECT_EQ(state.phase(), 0u);
    const lock_state next({node(bob, 1, reader, 9)}, "77 1:0", 3);
    EXPECT_EQ(next.phase(), 0u) << "rows of nodes that are gone mean nothing";
    ASSERT_EQ(next.due().size(), 1u);
    EXPECT_TRUE(next.due()[0].begins_phase);
}

TEST(LockState, GivesTheLowestFreeSlot) {
    constexpr auto pair = lock_mode::permits(2);
    const lock_state state(
        {node(alice, 1, pair, 1), node(bob, 1, pair, 2), node(bob, 2, pair, 3)}, "0 2:2", 0
    );
    EXPECT_EQ(state.slot_of(1), 2u);
    const auto due = state.due();
    ASSERT_EQ(due.size(), 1u);
    EXPECT_EQ(due[0].node.request, 1u);
    EXPECT_EQ(due[0].slot, 1u);
    EXPECT_TRUE(state.anybody_waits());
    EXPECT_EQ(state.capacity_before(1), 2u);
    EXPECT_EQ(state.capacity_before(0), 0u);
}

TEST(LockState, CountsWhatOthersHaveMade) {
    const lock_state state(
        {node(alice, 1, writer, 4), node(bob, 1, writer, 5), node(bob, 2, writer, 6)}, "", 0
    );
    EXPECT_EQ(state.made_by_others_since(6, alice), 1u);
    EXPECT_EQ(state.made_by_others_since(0, alice), 2u);
    EXPECT_EQ(state.made_by_others_since(0, bob), 1u);
}

TEST(LockState, IgnoresForeignNodesAndBrokenText) {
    const lock_state state({"lock-0000000001", node(alice, 1, reader, 2)}, "77 2:x 9", 0);
    EXPECT_EQ(state.nodes().size(), 1u);
    EXPECT_EQ(state.due().size(), 1u);
}

TEST(NodeNames, SayWhoseARequestIs) {
    const auto parsed = store_detail::parse_queue_node(
        node(alice, 0xabcdef, lock_mode::permits(65'535), -2000000000)
    );
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->session, alice);
    EXPECT_EQ(parsed->request, 0xabcdefu);
    EXPECT_EQ(parsed->mode, lock_mode::permits(65'535));
    EXPECT_TRUE(store_detail::comes_before(parsed->number, 0));
}

TEST(NodeNames, OfOthersAreNotRead) {
    const auto good = node(alice, 1, writer, 1);
    EXPECT_TRUE(store_detail::parse_queue_node(good));
    for (const std::string& bad :
         {std::string(), good.substr(1), good + "x", "g" + good.substr(1), good.substr(0, 51)})
        EXPECT_FALSE(store_detail::parse_queue_node(bad)) << bad;
    auto mode = good;
    mode.replace(mode.find("-x-"), 3, "-y-");
    EXPECT_FALSE(store_detail::parse_queue_node(mode));
}

TEST(NodeNames, OfLocksAreBytes) {
    for (const std::string& lock :
         {std::string("door"),
          std::string("a/b\0c", 5),
          std::string("."),
          std::string(".."),
          std::string("\xff%2F"),
          std::string("T\xc3\xbcr")}) {
        const auto node = store_detail::node_of_lock(lock);
        EXPECT_EQ(node.find_first_of("/.\\"), std::string::npos);
        EXPECT_EQ(store_detail::lock_of_node(node), lock);
    }
    EXPECT_EQ(store_detail::node_of_lock("door_7"), "door_7");
    for (const char* const bad : {"%", "%2", "%2G", "a.b", "a b"})
        EXPECT_FALSE(store_detail::lock_of_node(bad)) << bad;
}

}  // namespace
}  // namespace mortise::test::lock_state_test
