// SPDX-License-Identifier: BSL-1.0
// What a user's first program does: one lock, taken and given back.
#include <mortise/mortise.hpp>
#include <mortise/store/memory.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> use(mortise::lock_client& locks, std::uint64_t& seen) {
    co_await mortise::with_lock(
        locks,
        "consumer",
        {},
        [&](const mortise::lease& held) -> asio::awaitable<void> {
            seen = held.token().value;
            co_return;
        }
    );
    co_await locks.async_stop();
}

}  // namespace

int main() {
    asio::io_context context;
    mortise::lock_client locks(context.get_executor(), mortise::make_memory_store("consumer"));
    std::uint64_t seen = 0;
    std::exception_ptr failure;
    asio::co_spawn(context, use(locks, seen), [&](std::exception_ptr e) { failure = e; });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    std::printf("mortise %s, token %llu\n", mortise::version(), (unsigned long long)seen);
    return seen != 0 ? 0 : 1;
}
