// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_CLIENT_FIXTURE_HPP
#define MORTISE_TESTS_CONFORMANCE_CLIENT_FIXTURE_HPP

#include "conformance/port_conformance.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <functional>
#include <string>

namespace mortise::test {

lock_client make_client(store_harness& harness);
client_config config_of(store_harness& harness);

/// Lets `span` of the clients' time pass.
asio::awaitable<void> pause(store_harness& harness, clock::duration span);

/// Waits until `done()` holds; fails the test after ten seconds of the clients' time.
asio::awaitable<void> until(store_harness& harness, std::function<bool()> done);

/// Waits until the store has `count` waiters for that lock.
asio::awaitable<void>
queued(lock_client& observer, std::string name, std::size_t count, store_harness& harness);

}  // namespace mortise::test

#endif
