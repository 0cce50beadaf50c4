// SPDX-License-Identifier: BSL-1.0
// A lease by hand: for locks whose life does not fit into one body of code. Codes instead of
// exceptions, effects behind `guard`, and a look at what is left when the lease was lost.
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

/// Something that must not happen without the lock. Where it lives it should check the token, too:
/// see the flash sale for a fence in a database.
asio::awaitable<void> post_interest(mortise::fencing_token token) {
    std::cout << "posted with token " << token.value << '\n';
    co_return;
}

asio::awaitable<void> post_once(mortise::lock_client& locks) {
    // Two lines, not `auto [code, held] = co_await ...`: newer versions of g++ leak the hidden
    // tuple when the coroutine is destroyed while it waits.
    auto acquired =
        co_await locks.async_acquire("interest", {.wait_max = 2s}, asio::as_tuple(asio::deferred));
    auto& [code, held] = acquired;
    if (code == mortise::errc::busy) {
        std::cout << "somebody else is at it\n";
        co_return;
    }
    if (code)
        throw boost::system::system_error(code, locks.explain());

    // Refused if the lease is not surely held when it begins; told if it was not until the end.
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
    co_await locks.async_stop();  // ends the session, and with it the work of the context
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
