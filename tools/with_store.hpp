// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_WITH_STORE_HPP
#define MORTISE_TOOLS_WITH_STORE_HPP

#include "mortise/lock_client.hpp"
#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace mortise::tool {

/// What a command does with the store. It is asked once.
using store_work = std::function<asio::awaitable<int>(lock_client&)>;

/// Opens the store, lets `work` use it, and stops the client however that ends: for commands that
/// only ask. @return what the work returns. @throws what it throws, and what the library throws.
int with_store(const global_settings& global, client_config config, const store_work& work);

/// The same with a client that is there already.
asio::awaitable<int> work_and_stop(lock_client& locks, const store_work& work);

}  // namespace mortise::tool

#endif
