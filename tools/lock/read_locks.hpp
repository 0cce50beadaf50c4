// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_READ_LOCKS_HPP
#define MORTISE_TOOLS_LOCK_READ_LOCKS_HPP

#include "mortise/lock_client.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace mortise::tool {

/// How many waiters of a lock are read when the caller wants all.
inline constexpr std::size_t queue_shown_max = 1'000;

/// The largest lock name that sorts before `prefix` and all names that begin with it. Empty if
/// `prefix` is empty.
std::string name_before(std::string prefix);

/// Reads all locks whose names begin with `prefix`, page by page, in the order of their bytes. A
/// lock that appears or disappears meanwhile may or may not be among them.
/// @throws failure that names `store` if the store cannot be asked.
asio::awaitable<std::vector<lock_view>>
read_locks(lock_client& locks, std::string store, std::string prefix, std::size_t queue_max);

}  // namespace mortise::tool

#endif
