// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_REDIS_BARE_REDIS_STORE_HPP
#define MORTISE_TESTS_UNIT_REDIS_BARE_REDIS_STORE_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/store/redis.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::test {

/// For a server that surely never had a store.
inline redis_store_config bare_store_at(std::uint16_t port) {
    redis_store_config config;
    config.server.port = port;
    config.assume_new = true;
    return config;
}

/// The store by itself, on a thread of its own.
class bare_redis_store final : private store_events {
public:
    explicit bare_redis_store(const redis_store_config& config) : store_(make_redis_store(config)) {
        const auto executor = context_.get_executor();
        store_->attach(executor, *this, coro::make_boot_time_source(executor));
    }
    ~bare_redis_store() {
        asio::post(context_, [this] { store_->detach(); });
        work_.reset();
        thread_.join();
    }
    bare_redis_store(const bare_redis_store&) = delete;
    bare_redis_store& operator=(const bare_redis_store&) = delete;

    store& operator*() { return *store_; }

    /// All events that have come and were not taken yet. Any thread.
    std::vector<store_event> take_events() {
        const std::lock_guard guard(mutex_);
        return std::exchange(events_, {});
    }

    /// Runs the call, which nobody has begun yet. @return its result
    template <class T>
    T outcome(asio::awaitable<T> call) {
        return begin(std::move(call)).get();
    }

    /// Begins the call; those of one thread begin in the order of this function's calls.
    template <class T>
    std::future<T> begin(asio::awaitable<T> call) {
        return asio::co_spawn(context_, std::move(call), asio::use_future);
    }

private:
    void on_store_event(const store_event& event) noexcept override {
        const std::lock_guard guard(mutex_);
        events_.push_back(event);
    }

    std::mutex mutex_;
    std::vector<store_event> events_;

    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    const std::unique_ptr<store> store_;
    std::thread thread_{[this] { context_.run(); }};
};

}  // namespace mortise::test

#endif
