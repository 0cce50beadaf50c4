// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_CALLABLE_CHECK_HPP
#define MORTISE_CORO_DETAIL_CALLABLE_CHECK_HPP

#include <future>
#include <type_traits>

namespace mortise::coro::detail {

template <class T>
inline constexpr bool is_specialisation = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_specialisation<Template<Args...>> = true;

/// Whether F, deduced from `F&&`, may have come from a temporary that g++ before 13 destroys twice
/// in a `co_await` expression: an aggregate, or a closure, whose destructor is not trivial. A
/// closure that captures something cannot be assigned; most other classes can.
template <class F, class T = std::remove_cvref_t<F>>
inline constexpr bool is_owning_temporary =
    !std::is_lvalue_reference_v<F> && !std::is_trivially_destructible_v<T> &&
    (std::is_aggregate_v<T> || (!std::is_move_assignable_v<T> && !is_specialisation<T>));

/// Whether the result of an initiating function can be awaited in the same expression.
template <class T>
inline constexpr bool is_awaitable_result = !std::is_void_v<T>;
template <class T>
inline constexpr bool is_awaitable_result<std::future<T>> = false;

/// Refuses a temporary lambda that captures something with a destructor, on compilers that destroy
/// it twice. `Result` is the return type of the function that takes it.
template <class F, class Result>
constexpr void refuse_owning_temporary() noexcept {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    static_assert(
        !(is_owning_temporary<F> && is_awaitable_result<Result>),
        "mortise: g++ 12 destroys a temporary lambda twice if it captures something that has a "
        "destructor and stands in a co_await expression. Give the lambda a name and pass the name "
        "(if it cannot be copied: std::bind_front(std::move(name))). See docs/coroutine-traps.md."
    );
#endif
}

/// As `refuse_owning_temporary`, for closures that are often moved in. A moved closure looks like a
/// temporary even if it has a name. A program that defines this macro states that all its closures
/// have names. The sources of this project do; the address sanitizer would find one without a name.
template <class Work, class Result>
constexpr void refuse_owning_work() noexcept {
#ifndef MORTISE_CLOSURES_HAVE_NAMES
    refuse_owning_temporary<Work, Result>();
#endif
}

}  // namespace mortise::coro::detail

#endif
