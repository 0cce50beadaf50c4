// SPDX-License-Identifier: BSL-1.0
// A lease without `with_lock`, for a lock that you cannot hold and release in one body of code. The
// example uses error codes instead of exceptions, runs the effect under `guard`, and checks whether
// the lease was lost before the end.
//
// Prints:
//     posted with token N

#include "mortise/mortise.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// An effect that must not happen without the lock. A real resource should also check the token:
/// the flash sale shows a fence in a database.
asio::awaitable<void> post_interest(mortise::fencing_token token) {
    std::cout << "posted with token " << token.value << '\n';
    co_return;
}

asio::awaitable<void> post_once(mortise::lock_client& locks) {
    // Keep these two lines apart. With `auto [code, held] = co_await ...`, newer versions of g++
    // leak the hidden tuple if the coroutine is destroyed while it waits.
    auto acquired =
        co_await locks.async_acquire("interest", {.wait_max = 2s}, asio::as_tuple(asio::deferred));
    auto& [code, held] = acquired;
    if (code == mortise::errc::busy) {
        std::cout << "somebody else is at it\n";
        co_return;
    }
    if (code)
        throw boost::system::system_error(code, locks.explain());

    // Throws without posting if the lease is not held now. Throws afterwards if it was lost
    // meanwhile.
    co_await held.guard(post_interest(held.token()));

    auto released = co_await held.async_release(asio::as_tuple(asio::deferred));
    auto& [late] = released;
    if (late == mortise::condition::not_held)
        std::cout << "finished, but the lease was gone before the end\n";
    else if (late)
        std::cout << "the release goes on in the background: " << late.message() << '\n';
}

asio::awaitable<void> run(mortise::lock_client& locks) {
    co_await post_once(locks);
    co_await locks.async_stop();  // ends the session; the context then runs out of work
}

}  // namespace

int main() try {
    asio::io_context context;
    mortise::lock_client locks(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, run(locks), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
