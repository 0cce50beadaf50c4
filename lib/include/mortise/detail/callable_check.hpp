// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_CALLABLE_CHECK_HPP
#define MORTISE_DETAIL_CALLABLE_CHECK_HPP

#include <type_traits>

namespace mortise::detail {

/// Whether a callable may stand as a temporary in a `co_await` expression: g++ before 13 destroys
/// one that owns something twice.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
template <class F>
inline constexpr bool callable_is_safe =
    std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<std::decay_t<F>>;
#else
template <class F>
inline constexpr bool callable_is_safe = true;
#endif

}  // namespace mortise::detail

#endif
