// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_WITH_CODE_HPP
#define MORTISE_TOOLS_COMMON_WITH_CODE_HPP

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

namespace mortise::tool {

/// A completion token for `co_await` that returns the error code instead of throwing it.
inline constexpr auto with_code = boost::asio::as_tuple(boost::asio::deferred);

}  // namespace mortise::tool

#endif
