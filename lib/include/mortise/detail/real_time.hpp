// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_REAL_TIME_HPP
#define MORTISE_DETAIL_REAL_TIME_HPP

#include "mortise/coro/fwd.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace mortise::detail {

/// The time source of an object that is given none: `coro::make_boot_time_source`, with the error
/// codes of this library.
/// @throws error: `too_many_files` if no descriptor is left for the timer.
std::shared_ptr<coro::time_source> make_real_time(asio::any_io_executor executor);

}  // namespace mortise::detail

#endif
