// SPDX-License-Identifier: BSL-1.0
// Who holds a lock and who gets it next, by its queue alone.
#include "core/queue_view.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mortise::core::queue_view_test {
namespace {

// One letter for each entry: x, s, or the number of permits that the lock has. In capitals or with
// a '#' behind it: granted. Behind that '?': unreachable; '!': dead; '.': its time is over.
std::vector<queue_entry> queue_of(const std::string& text) {
    std::vector<queue_entry> queue;
    std::uint32_t slot = 0;
    for (const char letter : text) {
        switch (letter) {
        case ' ':
            break;
        case '#':
            queue.back().granted = true;
            queue.back().slot = ++slot;
            break;
        case '?':
            queue.back().session = presence::unreachable;
            break;
        case '!':
            queue.back().session = presence::gone;
            break;
        case '.':
            queue.back().ended = true;
            break;
        default:
            queue.emplace_back();
            queue.back().granted = letter == 'X' || letter == 'S';
            if (letter == 's' || letter == 'S')
                queue.back().mode = lock_mode::shared();
            else if (letter != 'x' && letter != 'X')
                queue.back().mode = lock_mode::permits(static_cast<std::uint32_t>(letter - '0'));
            break;
        }
    }
    return queue;
}

// One letter for each entry: Holds, Due, Passed over, Waits, Lapsed.
std::string text_of(const std::vector<standing>& all) {
    std::string text;
    for (const standing each : all)
        text += "HDPWL"[static_cast<std::size_t>(each)];
    return text;
}

struct row {
    const char* queue;
    const char* expected;
    const char* quarantined;
};

constexpr row table[] = {
    {"", "", ""},
    // One after the other.
    {"x", "D", "W"},
    {"x x x", "DWW", "WWW"},
    {"X", "H", "H"},
    {"X x s", "HWW", "HWW"},
    // Readers together, up to the first writer.
    {"s s s", "DDD", "WWW"},
    {"s s x s", "DDWW", "WWWW"},
    {"S s x s", "HDWW", "HWWW"},
    {"S S x", "HHW", "HHW"},
    {"x s s", "DWW", "WWW"},
    // As many as there are permits.
    {"2 2 2", "DDW", "WWW"},
    {"2# 2 2", "HDW", "HWW"},
    {"2# 2# 2", "HHW", "HHW"},
    {"1 1", "DW", "WW"},
    // Modes do not go together.
    {"s 2", "DW", "WW"},
    {"2# s 2", "HWW", "HWW"},
    {"2# x 2", "HWW", "HWW"},
    {"2# 3", "HW", "HW"},
    // The dead are removed wherever they stand.
    {"X! x", "LD", "LW"},
    {"X! x! x", "LLD", "LLW"},
    {"S! S x", "LHW", "LHW"},
    {"S! S! x", "LLD", "LLW"},
    {"x! s x! s", "LDLD", "LWLW"},
    {"X x! x", "HLW", "HLW"},
    {"2# 2#! 2", "HLD", "HLW"},
    // So are grants whose time is over; a waiter has none that could be.
    {"X. x", "LD", "LW"},
    {"S. S s", "LHD", "LHW"},
    {"x. x", "DW", "WW"},
    // Whoever cannot be reached is passed over, and stops nobody.
    {"x? x", "PD", "WW"},
    {"x? s? s x", "PPDW", "WWWW"},
    {"X? x", "HW", "HW"},
    {"X x? x", "HWW", "HWW"},
    {"s x s?", "DWW", "WWW"},
    {"x?", "P", "W"},
};

TEST(QueueView, SaysOfEachEntryWhatItIsEntitledTo) {
    for (const row& each : table) {
        EXPECT_EQ(text_of(standings(queue_of(each.queue), false)), each.expected) << each.queue;
        EXPECT_EQ(text_of(standings(queue_of(each.queue), true)), each.quarantined)
            << each.queue << ", in a quarantine";
    }
}

// What is due becomes a grant, and then the queue says that it holds: nobody else is due. So a
// queue in which no grants are written says who holds, too.
TEST(QueueView, NobodyIsDueOnceAllWhoAreHaveTheLock) {
    for (const row& each : table) {
        auto queue = queue_of(each.queue);
        const auto before = standings(queue, false);
        std::vector<queue_entry> holders;
        std::vector<queue_entry> waiters;
        std::uint32_t slot = 10;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (before[i] == standing::lapsed)
                continue;
            if (before[i] == standing::due) {
                queue[i].granted = true;
                queue[i].ended = false;
                queue[i].slot = ++slot;
            }
            (queue[i].granted ? holders : waiters).push_back(queue[i]);
        }
        const std::size_t count = holders.size();
        holders.insert(holders.end(), waiters.begin(), waiters.end());
        const auto after = standings(holders, false);
        for (std::size_t i = 0; i < after.size(); ++i) {
            if (i < count)
                EXPECT_EQ(after[i], standing::holds) << each.queue;
            else
                EXPECT_TRUE(after[i] == standing::waits || after[i] == standing::passed_over)
                    << each.queue;
        }
    }
}

TEST(QueueView, SaysWhenTheRestOfTheQueueChangesNothing) {
    struct case_of_reading {
        const char* queue;
        bool settled;
        bool closed;
        bool waited_for;
    };
    constexpr case_of_reading cases[] = {
        {"", false, false, false},
        {"X", true, true, true},
        {"S", true, false, false},
        {"2#", false, false, false},
        {"2# 2#", false, true, true},
        {"S x", true, true, true},
        {"S x?", true, false, true},
        {"X!", false, false, false},
    };
    for (const auto& each : cases) {
        queue_view view(false);
        for (const auto& entry : queue_of(each.queue))
            view.judge(entry);
        EXPECT_EQ(view.settled(), each.settled) << each.queue;
        EXPECT_EQ(view.closed(), each.closed) << each.queue;
        EXPECT_EQ(view.waited_for(), each.waited_for) << each.queue;
    }
}

TEST(QueueView, GivesReadersOneTokenAndPermitsTheLowestSlot) {
    queue_view readers(false);
    EXPECT_EQ(readers.holders().common_token(lock_mode::shared()), 0u) << "one of its own";
    readers.admit(lock_mode::shared(), 7, 0);
    EXPECT_EQ(readers.holders().common_token(lock_mode::shared()), 7u);
    queue_view permits(false);
    const auto three = lock_mode::permits(3);
    permits.admit(three, 1, 1);
    permits.admit(three, 2, 3);
    EXPECT_EQ(permits.holders().free_slot(three), 2u);
    EXPECT_EQ(permits.holders().common_token(three), 0u);
}

TEST(QueueView, KnowsWhichModesNobodyCanHold) {
    EXPECT_TRUE(sound(lock_mode::exclusive()));
    EXPECT_TRUE(sound(lock_mode::shared()));
    EXPECT_TRUE(sound(lock_mode::permits(1)));
    EXPECT_TRUE(sound(lock_mode::permits(lock_mode::capacity_max)));
    EXPECT_FALSE(sound(lock_mode::permits(0)));
    EXPECT_FALSE(sound(lock_mode::permits(lock_mode::capacity_max + 1)));
}

}  // namespace
}  // namespace mortise::core::queue_view_test
