// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_WITH_CODE_HPP
#define MORTISE_CORO_DETAIL_WITH_CODE_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

namespace mortise::coro::detail {

/// The token with which an awaited operation returns its code and values as a tuple, and does not
/// throw.
inline constexpr auto with_code = asio::as_tuple(asio::deferred);

}  // namespace mortise::coro::detail

#endif
