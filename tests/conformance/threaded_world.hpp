// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_THREADED_WORLD_HPP
#define MORTISE_TESTS_CONFORMANCE_THREADED_WORLD_HPP

#include "conformance/store_harness.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A pool of four threads, and a store whose clients live on it, in real time.
class threaded_world {
public:
    explicit threaded_world(harness_factory make);
    ~threaded_world();
    threaded_world(const threaded_world&) = delete;
    threaded_world& operator=(const threaded_world&) = delete;

    asio::thread_pool& pool() noexcept { return *pool_; }
    /// Makes a client with a TTL that a busy machine does not use up.
    lock_client client(lock_observer* observer = nullptr);
    lock_client client_with_ttl(std::chrono::milliseconds ttl, lock_observer* observer = nullptr);

    /// Starts a coroutine on a strand of its own, so that it may be cancelled.
    void start(asio::awaitable<void> task) {
        asio::co_spawn(asio::make_strand(*pool_), std::move(task), reported());
    }
    /// Starts one on whichever thread is free at each of its steps.
    void start_loose(asio::awaitable<void> task) {
        asio::co_spawn(*pool_, std::move(task), reported());
    }

    /// Waits for all coroutines. Fails the test if one does not end, or ends by an exception.
    void wait();
    void stop(lock_client& locks);

    /// Ends all threads, with whatever is under way.
    void end_threads();
    /// Begins new threads.
    void begin_threads();

    /// Whether nobody has or wants these locks: another client gets them at once.
    bool all_free(std::vector<std::string> names);

    const store_harness& harness() const noexcept { return *harness_; }

private:
    bool becomes_empty();
    /// A handler that reports to `wait` what a coroutine threw: in words, since the sanitizer
    /// cannot follow an exception from thread to thread.
    std::function<void(std::exception_ptr)> reported();

    const std::unique_ptr<store_harness> harness_;
    std::unique_ptr<asio::thread_pool> pool_;
    std::vector<std::future<std::string>> running_;
};

}  // namespace mortise::test

#endif
