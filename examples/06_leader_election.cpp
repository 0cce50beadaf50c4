// SPDX-License-Identifier: BSL-1.0
// Elects one leader among many candidates. When the leader resigns, the next candidate leads. A
// deposed leader is stopped, and becomes a candidate again.
//
// Prints:
//     anna leads
//     anna resigns
//     berta leads
//     berta is deposed
//     berta leads, with a higher token
//     berta resigns

#include "mortise/coro/event.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/election.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> pause(std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::deferred);
}

//[lead
asio::awaitable<void> anna(mortise::lock_client& locks, mortise::coro::event& leads) {
    auto term = [&leads](const mortise::lease&) -> asio::awaitable<void> {
        std::cout << "anna leads\n";
        leads.set();
        co_await pause(100ms);
        std::cout << "anna resigns\n";  // by returning
    };
    co_await mortise::lead(locks, "leader", {}, term);
}
//]

// Berta's first term would last an hour. `lead` calls the body again for each term.
asio::awaitable<void> berta(mortise::lock_client& locks, mortise::coro::event& leads) {
    std::uint64_t before = 0;
    auto term = [&before, &leads](const mortise::lease& held) -> asio::awaitable<void> {
        const bool first = before == 0;
        const bool higher = held.token().value > std::exchange(before, held.token().value);
        std::cout << "berta leads" << (!first && higher ? ", with a higher token\n" : "\n");
        leads.set();
        co_await pause(first ? 1h : 50ms);  // cancelled when the leadership is lost
        std::cout << "berta resigns\n";
    };
    co_await mortise::lead(locks, "leader", {.pause_first = 20ms}, term);
}

/// An operator takes the office from its holder.
asio::awaitable<void> depose_leader(mortise::lock_client& locks) {
    const auto leader = co_await locks.async_inspect("leader", 0);
    if (!leader)
        throw std::logic_error("nobody leads");
    std::cout << "berta is deposed\n";
    co_await locks.async_break("leader", leader->holders.at(0).token, "she does not answer");
}

asio::awaitable<void> run(mortise::lock_client& one, mortise::lock_client& two) {
    const auto executor = co_await asio::this_coro::executor;
    mortise::coro::task_scope cluster(executor);
    mortise::coro::event anna_leads(executor);
    mortise::coro::event berta_leads(executor);
    cluster.spawn(anna(one, anna_leads));
    co_await anna_leads.async_wait();
    cluster.spawn(berta(two, berta_leads));
    co_await berta_leads.async_wait();
    co_await depose_leader(one);
    co_await cluster.join();
    co_await one.async_stop();
    co_await two.async_stop();
}

}  // namespace

int main() try {
    asio::io_context context;
    mortise::lock_client one(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    mortise::lock_client two(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, run(one, two), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
