// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_QUEUE_VIEW_HPP
#define MORTISE_CORE_QUEUE_VIEW_HPP

#include "mortise/lock_mode.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mortise::core {

/// Whether anybody can hold a lock in that mode.
constexpr bool sound(lock_mode mode) noexcept {
    return mode.type() != lock_mode::kind::permits ||
           (mode.capacity() >= 1 && mode.capacity() <= lock_mode::capacity_max);
}

enum class presence : std::uint8_t {
    alive,
    /// Alive, but cannot be told of a grant at present: keeps its place and is passed over.
    unreachable,
    gone,  ///< Dead; never comes back.
};

/// The holders of one lock, as far as they decide who may join them: which modes go together.
///
/// One exclusive or one shared holder is enough to describe its lock; of permits, every holder must
/// be added, because each has a slot.
class holder_set {
public:
    void add(lock_mode mode, std::uint64_t token, std::uint32_t slot);

    /// Whether somebody may join the present holders in that mode.
    bool admits(lock_mode mode) const noexcept;

    /// Whether nobody may join, whatever the mode.
    bool closed() const noexcept;

    /// The token that a newcomer in that mode shares with the present holders: that of a shared
    /// phase, or zero if the newcomer needs a token of its own.
    std::uint64_t common_token(lock_mode mode) const noexcept;

    /// The lowest slot that is free, for permits; zero for the other modes.
    std::uint32_t free_slot(lock_mode mode) const noexcept;

private:
    bool held_ = false;
    lock_mode mode_;
    std::uint64_t token_ = 0;
    std::uint32_t count_ = 0;
    std::vector<bool> taken_;  // slots, from 1 on
};

/// What an entry of a queue is entitled to.
enum class standing : std::uint8_t {
    holds,        ///< It has the lock.
    due,          ///< It gets the lock now.
    passed_over,  ///< It is not told, and keeps its place.
    waits,        ///< It must wait, and so must all behind it.
    lapsed,       ///< Its session is dead or its time is over: remove it.
};

/// An entry of a queue, as far as it decides who holds the lock.
struct queue_entry {
    lock_mode mode;
    presence session = presence::alive;
    bool granted = false;
    bool ended = false;  ///< Of a grant: its time is over.
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
};

/// The rule of the queue: who holds a lock, and who gets it next.
///
/// There is one queue per lock, for all modes. From its head each request gets the lock that goes
/// together with the present holders, up to the first that does not: a writer who waits stops the
/// readers behind it. A waiter that cannot be reached is passed over and keeps its place.
///
/// Entries are shown in their order, the holders before the waiters. Whoever reads them one after
/// the other may stop reading as soon as the rest changes nothing (`settled`, `closed`).
class queue_view {
public:
    /// @param quarantined whether nothing may be granted yet.
    explicit queue_view(bool quarantined) noexcept : stopped_(quarantined) {}

    /// What the next entry is entitled to. One that is `due` counts as a holder once it is passed
    /// to `admit`.
    standing judge(const queue_entry& next);

    /// Counts a holder.
    void admit(lock_mode mode, std::uint64_t token, std::uint32_t slot) {
        holders_.add(mode, token, slot);
    }

    /// Nobody who comes after this gets the lock.
    void stop() noexcept { stopped_ = true; }

    /// Whether further holders change nothing: all but permits have one mode and one token.
    bool settled() const noexcept { return settled_; }
    /// Whether a newcomer must queue, whatever its mode.
    bool closed() const noexcept { return stopped_ || holders_.closed(); }
    /// Whether somebody may be waiting.
    bool waited_for() const noexcept { return passed_over_ || closed(); }

    const holder_set& holders() const noexcept { return holders_; }

private:
    holder_set holders_;
    bool settled_ = false;
    bool stopped_;
    bool passed_over_ = false;
};

/// What each entry of a whole queue is entitled to, holders before waiters, if those that are due
/// get the lock. Also tells who holds a lock whose grants are written nowhere: then nothing in the
/// queue is granted, and those that are due hold it.
std::vector<standing> standings(std::span<const queue_entry> queue, bool quarantined);

}  // namespace mortise::core

#endif
