// SPDX-License-Identifier: BSL-1.0
// A program that uses only the waiting room: a mutex between two coroutines.
#include <mortise/coro/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <stdexcept>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> enter(mortise::coro::mutex& door, int& inside, int& visits) {
    auto guard = co_await door.async_lock();
    if (++inside != 1)
        throw std::logic_error("two inside");
    ++visits;
    --inside;
}

}  // namespace

int main() {
    asio::io_context context;
    mortise::coro::mutex door(context.get_executor());
    int inside = 0;
    int visits = 0;
    auto rethrow = [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    };
    asio::co_spawn(context, enter(door, inside, visits), rethrow);
    asio::co_spawn(context, enter(door, inside, visits), rethrow);
    context.run();
    return visits == 2 ? 0 : 1;
}
