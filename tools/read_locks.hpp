// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_READ_LOCKS_HPP
#define MORTISE_TOOLS_READ_LOCKS_HPP

#include "mortise/lock_client.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace mortise::tool {

/// How many waiters of a lock are read where all are wanted.
inline constexpr std::size_t queue_shown_max = 1'000;

/// The largest name of a lock that comes before `prefix` and all that begins with it; empty if
/// `prefix` is.
std::string name_before(std::string prefix);

/// All locks whose name begins with `prefix`, page after page, in the order of their bytes. A lock
/// that comes or goes meanwhile may or may not be among them.
/// @throws failure with `store` in it, if the store cannot be asked.
asio::awaitable<std::vector<lock_view>>
read_locks(lock_client& locks, std::string store, std::string prefix, std::size_t queue_max);

}  // namespace mortise::tool

#endif
