// SPDX-License-Identifier: BSL-1.0
#include "storm/last_client.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

asio::awaitable<void> stay(
    lock_client& client,
    const std::function<std::int64_t()>& sessions,
    milliseconds ttl,
    const std::vector<std::string>& names
) {
    std::vector<lease> held;
    for (const std::string& name : names) {
        auto acquiring = client.async_acquire(name);
        held.push_back(co_await std::move(acquiring));
    }
    asio::steady_timer timer(client.get_executor());
    const auto end = clock::now() + 4 * ttl;
    while (sessions() > 1 && clock::now() < end) {
        timer.expires_after(milliseconds(20));
        auto waiting = timer.async_wait(asio::deferred);
        co_await std::move(waiting);
    }
    for (lease& each : held) {
        auto releasing = each.async_release(asio::deferred);
        co_await std::move(releasing);
    }
    auto stopping = client.async_stop(asio::deferred);
    co_await std::move(stopping);
}

}  // namespace

void bury_the_dead(
    const std::string& url,
    milliseconds ttl,
    const std::function<std::int64_t()>& sessions,
    const std::vector<std::string>& names
) {
    asio::io_context context(1);
    client_config config;
    config.ttl = ttl;
    lock_client client(context.get_executor(), open_store(url), config);
    std::exception_ptr failed;
    asio::co_spawn(context, stay(client, sessions, ttl, names), [&](const std::exception_ptr& why) {
        failed = why;
        if (failed)
            context.stop();  // The client would go on.
    });
    context.run();
    if (failed)
        std::rethrow_exception(failed);
}

}  // namespace mortise::storm
