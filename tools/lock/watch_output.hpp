// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_WATCH_OUTPUT_HPP
#define MORTISE_TOOLS_LOCK_WATCH_OUTPUT_HPP

#include "lock/live_screen.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// Shows what `mortise watch` sees.
class watch_output {
public:
    virtual ~watch_output() = default;

    /// Shows the present state of the locks, after a look.
    virtual void show(std::vector<lock_view> locks) = 0;

    /// Tells how much time has passed since the last look. Nothing else has changed.
    virtual void age(clock::duration since_look) = 0;
};

/// Writes a line for each change, and at first one for each party: for people, or JSON objects.
class watch_lines final : public watch_output {
public:
    watch_lines(std::ostream& out, bool as_json) : out_(out), as_json_(as_json) {}

    void show(std::vector<lock_view> locks) override;
    void age(clock::duration) override {}

private:
    std::ostream& out_;
    bool as_json_;
    std::vector<lock_view> before_;
};

/// A table that is redrawn in place.
class watch_screen final : public watch_output {
public:
    watch_screen(int fd, std::string title) : screen_(fd), title_(std::move(title)) {}

    void show(std::vector<lock_view> locks) override;
    void age(clock::duration since_look) override;

private:
    live_screen screen_;
    std::string title_;
    std::vector<lock_view> locks_;
};

/// A difference between two looks at the locks.
struct lock_change {
    enum class kind : std::uint8_t { acquired, released, waits, left };

    kind type = kind::acquired;
    std::string name;
    party_view who;
};

const char* to_string(lock_change::kind kind) noexcept;

/// What changed between two looks. Parties that came and went in between are not seen. Both looks
/// must be sorted by name. The changes of one lock are sorted: releases, acquisitions, waiters that
/// left, new waiters.
///
/// A waiter that now holds the lock counts as an acquisition only, not as one that left the queue.
std::vector<lock_change>
changes_between(const std::vector<lock_view>& before, const std::vector<lock_view>& after);

}  // namespace mortise::tool

#endif
