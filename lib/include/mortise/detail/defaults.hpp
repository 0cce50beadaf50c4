// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_DEFAULTS_HPP
#define MORTISE_DETAIL_DEFAULTS_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>

namespace mortise::detail {

/// The time source of a configuration: the given one, or the real time.
inline std::shared_ptr<coro::time_source> time_or_real(
    const std::shared_ptr<coro::time_source>& given, const boost::asio::any_io_executor& executor
) {
    return given ? given : make_real_time(executor);
}

/// The seed of a configuration: the given one, or a random one for zero.
inline std::uint64_t seed_or_random(std::uint64_t given) {
    return given != 0 ? given : random_id::draw().low;
}

}  // namespace mortise::detail

#endif
