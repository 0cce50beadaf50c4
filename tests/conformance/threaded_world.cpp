// SPDX-License-Identifier: BSL-1.0
#include "conformance/threaded_world.hpp"

#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t threads = 4;
constexpr auto world_patience = 50s;
constexpr auto usual_ttl = 30s;

}  // namespace

// Makes a first store on the main thread, on which a server for tests has to start.
threaded_world::threaded_world(harness_factory make) : harness_(make()) {
    harness_->make_store();
    begin_threads();
}

threaded_world::~threaded_world() {
    end_threads();
}

lock_client threaded_world::client(lock_observer* observer) {
    return client_with_ttl(usual_ttl, observer);
}

lock_client
threaded_world::client_with_ttl(std::chrono::milliseconds ttl, lock_observer* observer) {
    client_config config;
    config.ttl = ttl;
    config.observer = observer;
    return lock_client(pool_->get_executor(), harness_->make_store(), std::move(config));
}

std::function<void(std::exception_ptr)> threaded_world::reported() {
    const auto promise = std::make_shared<std::promise<std::string>>();
    running_.push_back(promise->get_future());
    return [promise](std::exception_ptr failure) {
        std::string text;
        try {
            if (failure)
                std::rethrow_exception(std::exchange(failure, nullptr));
        } catch (const std::exception& thrown) {
            text = thrown.what();
        }
        promise->set_value(std::move(text));
    };
}

void threaded_world::wait() {
    for (auto& each : std::exchange(running_, {})) {
        if (each.wait_for(world_patience) != std::future_status::ready) {
            ADD_FAILURE() << "a coroutine does not end";
            return;
        }
        EXPECT_EQ(each.get(), "");
    }
}

void threaded_world::stop(lock_client& locks) {
    std::promise<error_code> promise;
    locks.async_stop([&promise](error_code code) { promise.set_value(code); });
    auto stopped = promise.get_future();
    ASSERT_EQ(stopped.wait_for(world_patience), std::future_status::ready)
        << "a client does not stop";
    EXPECT_EQ(stopped.get(), error_code());
}

void threaded_world::end_threads() {
    if (!pool_)
        return;
    pool_->stop();
    pool_->join();
    pool_.reset();
    running_.clear();
}

void threaded_world::begin_threads() {
    pool_ = std::make_unique<asio::thread_pool>(threads);
}

bool threaded_world::all_free(std::vector<std::string> names) {
    lock_client locks = client();
    lock_options at_once;
    at_once.wait_max = 0ms;
    std::promise<bool> got;
    locks.async_acquire_all(std::move(names), at_once, [&got](error_code code, lease_set all) {
        got.set_value(!code && all.held());
    });
    auto answer = got.get_future();
    EXPECT_EQ(answer.wait_for(world_patience), std::future_status::ready);
    const bool free = answer.get();
    stop(locks);
    EXPECT_TRUE(becomes_empty()) << harness_->left();
    return free;
}

// A busy machine may lose the answer to the opening of a session, whose client then opens another:
// the first is there until it is dead, and a heartbeat of somebody else finds it.
bool threaded_world::becomes_empty() {
    constexpr std::uint64_t beats = 2;
    const auto end = clock::now() + 2 * usual_ttl;
    while (harness_->residue() != 0) {
        if (clock::now() >= end)
            return false;
        lock_client finder = client_with_ttl(3s);
        std::promise<lease> got;
        finder.async_acquire("finder", lock_options(), [&got](error_code, lease held) {
            got.set_value(std::move(held));
        });
        const lease held = got.get_future().get();
        EXPECT_TRUE(eventually([&] { return finder.stats().heartbeats >= beats; }));
        stop(finder);
    }
    return true;
}

}  // namespace mortise::test
