// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQLITE_STORE_USER_HPP
#define MORTISE_TESTS_UNIT_SQLITE_STORE_USER_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/store/sqlite.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

/// A context in real time, since the store's threads and sockets have no other.
class real_world {
public:
    /// Runs until it is true; false if that takes more than `limit`.
    bool until(const std::function<bool()>& done, clock::duration limit = std::chrono::seconds(10));

    /// Runs the coroutine. @return its result
    template <class T>
    T get(asio::awaitable<T> task) {
        std::optional<T> value;
        asio::co_spawn(context, std::move(task), [&](std::exception_ptr, T result) {
            value.emplace(std::move(result));
        });
        if (!until([&] { return value.has_value(); }))
            throw std::runtime_error("the store did not answer");
        return std::move(*value);
    }

    asio::io_context context;
    std::shared_ptr<coro::time_source> time = coro::make_boot_time_source(context.get_executor());
};

/// One SQLite store with a session, as its client would use it. Sends no heartbeat by itself.
class store_user final : private store_events {
public:
    store_user(real_world& world, const sqlite_store_config& config);
    ~store_user();

    error_code open(std::chrono::milliseconds ttl = std::chrono::seconds(30));
    answer ask(const std::string& name);
    /// Releases what the last `ask` or the last grant that was told got.
    void release(const std::string& name, request_id id, const fencing_token& token);
    result<heartbeat> beat();
    void drop();

    /// "granted 1", "session_lost store_replaced", ... in order of arrival; taken out.
    std::string take_notices() { return std::exchange(notices_, std::string()); }
    bool hears(const std::string& text, clock::duration limit = std::chrono::seconds(10));

    store& port() { return *store_; }
    request_id last_id() const { return last_id_; }
    const fencing_token& token() const { return token_; }

private:
    void on_store_event(const store_event& event) noexcept override;

    real_world& world_;
    std::unique_ptr<store> store_;
    request_id last_id_ = 0;
    fencing_token token_;
    std::string notices_;
};

}  // namespace mortise::test

#endif
