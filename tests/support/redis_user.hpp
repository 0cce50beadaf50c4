// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_USER_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_USER_HPP

#include "mortise/lock_client.hpp"
#include "mortise/store/redis.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace mortise::test {

/// The outcome of an acquire, and its time.
class acquired {
public:
    error_code code;
    lease held;
    clock::time_point at;
};

/// A client of a Redis store that runs on a thread of its own: for tests that meanwhile do
/// something slow to the server.
///
/// @par Threads One at a time.
class redis_user {
public:
    static constexpr std::chrono::milliseconds usual_ttl{600};

    explicit redis_user(redis_store_config config, std::chrono::milliseconds ttl = usual_ttl);
    redis_user(redis_store_config config, const client_config& how);
    /// A client of that store.
    redis_user(std::unique_ptr<store> at, const client_config& how);
    /// For a server whose users all have this TTL.
    explicit redis_user(std::uint16_t port, std::chrono::milliseconds ttl = usual_ttl);
    /// Stops the client.
    ~redis_user();
    redis_user(const redis_user&) = delete;
    redis_user& operator=(const redis_user&) = delete;

    /// Asks for a lock; the outcome comes later.
    std::future<acquired>
    ask(std::string name, std::chrono::milliseconds wait = std::chrono::seconds(20));
    /// Asks and waits. @throws std::runtime_error if no answer comes at all
    acquired acquire(std::string name, std::chrono::milliseconds wait = std::chrono::seconds(20));
    error_code release(lease& held);
    /// Stops the client, of which nothing more may be asked afterwards.
    error_code stop();

    lock_client& client() { return *client_; }
    std::string explain() const { return client_->explain(); }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::optional<lock_client> client_;
    bool stopped_ = false;
    std::thread thread_;
};

/// The outcome in the future. @throws std::runtime_error if it does not come
acquired outcome_of(std::future<acquired>& asked);

}  // namespace mortise::test

#endif
