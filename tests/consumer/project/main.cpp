// SPDX-License-Identifier: BSL-1.0
// What a user's first programs do: one lock, taken and given back; several; a shared one.
#include <mortise/mortise.hpp>
#include <mortise/prometheus.hpp>
#include <mortise/store/memory.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

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
    const std::vector<std::string> names{"shelf", "drawer"};
    auto both = co_await locks.async_acquire_all(names, {.mode = mortise::lock_mode::shared()});
    if (!both.held() || both.size() != 2)
        seen = 0;
    co_await both.async_release();
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
    std::puts(mortise::prometheus_text(locks.stats(), "consumer").c_str());
    std::printf("mortise %s, token %llu\n", mortise::version(), (unsigned long long)seen);
    return seen != 0 ? 0 : 1;
}
