// SPDX-License-Identifier: BSL-1.0
#include "bench/pause.hpp"
#include "bench/redis_meter.hpp"
#include "bench/work.hpp"
#include "failure.hpp"
#include "with_code.hpp"

#include <chrono>

namespace mortise::tool {

asio::awaitable<void> acquire_again_and_again(bench_work work) {
    constexpr std::chrono::milliseconds rest(5);
    lock_options options;
    options.linger = std::chrono::minutes(1);
    const std::string name = work.settings.lock;
    while (work.shared.stop.load(std::memory_order_relaxed) == 0) {
        auto acquired = co_await work.locks.async_acquire(name, options, with_code);
        auto& [code, held] = acquired;
        if (code)
            throw failure::of_code(code, name, work.locks.explain());
        auto released = co_await held.async_release(with_code);
        auto& [unreleased] = released;
        if (unreleased)
            throw failure::of_code(unreleased, "while releasing", work.locks.explain());
        work.shared.handoffs.fetch_add(1, std::memory_order_relaxed);
        if (work.shared.rest.load(std::memory_order_relaxed) != 0)
            co_await pause_for(rest);
    }
}

std::string echo_channel_from(const std::string& lock) {
    return lock + ":echo:from";
}

std::string echo_channel_to(const std::string& lock) {
    return lock + ":echo:to";
}

void echo_messages(const bench_work& work, const std::string& store) {
    const auto meter = redis_meter::of(store);
    if (!meter)
        return;
    meter->subscribe(echo_channel_to(work.settings.lock));
    work.shared.echoing.store(1);
    meter->echo_back(echo_channel_from(work.settings.lock));
}

}  // namespace mortise::tool
