// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_ASSERT_HPP
#define MORTISE_CORO_ASSERT_HPP

namespace mortise::coro::detail {

/// Prints what was broken and where, and aborts. Never returns.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace mortise::coro::detail

/// States what must be true here whatever the user's input: a caller's mistake or our own.
///
/// It is checked in every build type, since a lock that goes on after a broken invariant does more
/// harm than one that stops. `MORTISE_NO_ASSERT` takes the checks out; the expression is then not
/// evaluated, so it must not have side effects.
#ifndef MORTISE_NO_ASSERT
#define MORTISE_ASSERT(...)                                                                        \
    (static_cast<bool>(__VA_ARGS__)                                                                \
         ? static_cast<void>(0)                                                                    \
         : ::mortise::coro::detail::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#else
#define MORTISE_ASSERT(...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
#endif

#endif
