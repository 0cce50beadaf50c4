// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_ERROR_HPP
#define MORTISE_CORO_ERROR_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/system/error_category.hpp>

#include <type_traits>

namespace mortise::coro {

/// The errors of the primitives besides `asio::error::operation_aborted`.
enum class errc : int {
    queue_full = 1,  ///< The worker's queue has `queue_max` closures already; nothing was queued.
    work_threw,      ///< The closure ended with an exception that carries no error code.
};

const boost::system::error_category& error_category() noexcept;
error_code make_error_code(errc e) noexcept;

}  // namespace mortise::coro

template <>
struct boost::system::is_error_code_enum<mortise::coro::errc> : std::true_type {};

#endif
