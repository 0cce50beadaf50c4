// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_WITHOUT_THROW_HPP
#define MORTISE_TESTS_SUPPORT_WITHOUT_THROW_HPP

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

namespace mortise::test {

/// A completion token for `co_await` that gives the error code instead of throwing it.
inline constexpr auto without_throw = boost::asio::as_tuple(boost::asio::deferred);

}  // namespace mortise::test

#endif
