// SPDX-License-Identifier: BSL-1.0
#include "conformance/client_fixture.hpp"

namespace mortise::test {

using namespace std::chrono_literals;

client_config config_of(store_harness& harness) {
    client_config config;
    config.ttl = harness.ttl();
    config.time = harness.time();
    config.label = "conformance";
    return config;
}

lock_client make_client(store_harness& harness) {
    return lock_client(harness.executor(), harness.make_store(), config_of(harness));
}

asio::awaitable<void> pause(store_harness& harness, clock::duration span) {
    co_await harness.time()->async_wait_until(harness.time()->now() + span);
}

asio::awaitable<void> until(store_harness& harness, std::function<bool()> done) {
    const machine_delay delay;
    const auto end = harness.time()->now() + 10s;
    while (!done()) {
        if (harness.time()->now() >= end + harness.lateness(delay)) {
            ADD_FAILURE() << "waited for 10 s in vain";
            co_return;
        }
        co_await pause(harness, 1ms);
    }
}

asio::awaitable<void>
queued(lock_client& observer, std::string name, std::size_t count, store_harness& harness) {
    const machine_delay delay;
    const auto end = harness.time()->now() + 10s;
    const bool shown = harness.make_store()->traits().waiters;
    for (;;) {
        if (!shown && harness.wanted(name))
            co_return;
        const auto views = co_await observer.async_list("", 100, 0);
        for (const auto& view : views) {
            if (shown && view.name == name && view.waiter_count == count)
                co_return;
        }
        if (harness.time()->now() >= end + harness.lateness(delay)) {
            ADD_FAILURE() << name << " never had " << count << " waiters";
            co_return;
        }
        co_await pause(harness, 1ms);
    }
}

}  // namespace mortise::test
