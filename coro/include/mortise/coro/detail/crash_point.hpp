// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_CRASH_POINT_HPP
#define MORTISE_CORO_DETAIL_CRASH_POINT_HPP

// Named moments at which a process can be made to die, and bugs that can be planted, from outside:
// MORTISE_CRASH_AT=NAME:N kills it when it comes to that point for the Nth time, MORTISE_STOP_AT
// stops it there until it is continued, and MORTISE_PLANT=NAME plants a bug that tests must find.
// They are compiled only with MORTISE_PLANT_BUGS, which the test build has.
#ifdef MORTISE_PLANT_BUGS

#include <functional>
#include <string_view>

namespace mortise::coro::detail {

/// Gets the name of each point that a thread of this process passes, on that thread, so that a test
/// can act at that moment. Empty: nobody does.
using point_watcher = std::function<void(std::string_view)>;
void watch_crash_points(point_watcher watcher);

void pass_crash_point(const char* name) noexcept;
bool is_planted(const char* name) noexcept;

}  // namespace mortise::coro::detail

#define MORTISE_CRASH_POINT(name) ::mortise::coro::detail::pass_crash_point(name)
#define MORTISE_PLANTED_NAME(name) ::mortise::coro::detail::is_planted(name)

#else

#define MORTISE_CRASH_POINT(name) static_cast<void>(0)
#define MORTISE_PLANTED_NAME(name) false

#endif
#endif
