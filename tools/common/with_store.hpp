// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_WITH_STORE_HPP
#define MORTISE_TOOLS_COMMON_WITH_STORE_HPP

#include "common/settings.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace mortise::tool {

/// What a command does with the store. Called once.
using store_work = std::function<asio::awaitable<int>(lock_client&)>;

/// Opens the store, runs `work`, and stops the client on success and on failure. For commands that
/// only read. @return the result of `work`. @throws what `work` or the library throws.
int with_store(const global_settings& global, client_config config, const store_work& work);

/// The same for a client that exists already.
asio::awaitable<int> work_and_stop(lock_client& locks, const store_work& work);

}  // namespace mortise::tool

#endif
