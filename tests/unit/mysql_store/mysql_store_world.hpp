// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_MYSQL_STORE_MYSQL_STORE_WORLD_HPP
#define MORTISE_TESTS_UNIT_MYSQL_STORE_MYSQL_STORE_WORLD_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/store/mysql.hpp"
#include "support/mariadb_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace mortise::test {

/// Clients of a store at a server, in one context that the test runs.
class mysql_store_world {
public:
    explicit mysql_store_world(mariadb_server& server)
        : server_(server), database_(server.create_database("locks")) {}

    mariadb_server& server() noexcept { return server_; }
    asio::io_context& context() noexcept { return context_; }
    const std::string& database() const noexcept { return database_; }
    std::string value_of(const std::string& sql) const { return server_.run(sql, database_); }

    /// Stores that are made from now on reach the server by that port.
    void go_by(std::uint16_t port) { port_ = port; }

    std::unique_ptr<store> make_store() const {
        auto config = parse_mysql_store_url(server_.url(database_));
        config.server.port = port_;
        return make_mysql_store(std::move(config));
    }

    lock_client make_client(
        std::chrono::milliseconds ttl = std::chrono::seconds(6), asio::io_context* in = nullptr
    ) {
        client_config config;
        config.ttl = ttl;
        return {(in ? *in : context_).get_executor(), make_store(), std::move(config)};
    }

    /// Runs the task to its end, and throws its exception.
    void run(asio::awaitable<void> task, std::chrono::seconds limit = std::chrono::seconds(60)) {
        bool done = false;
        std::exception_ptr failed;
        asio::co_spawn(context_, std::move(task), [&](std::exception_ptr why) {
            done = true;
            failed = std::move(why);
        });
        run_until([&] { return done; }, limit);
        if (failed)
            std::rethrow_exception(failed);
        EXPECT_TRUE(done) << "the task does not end";
    }

    asio::awaitable<void> nap(std::chrono::milliseconds span) {
        co_await time_->async_wait_until(time_->now() + span, asio::use_awaitable);
    }
    asio::awaitable<void> until(std::function<bool()> so) {
        while (!so())
            co_await nap(std::chrono::milliseconds(2));
    }

    bool run_until(
        const std::function<bool()>& so, std::chrono::seconds limit = std::chrono::seconds(60)
    ) {
        const auto end = clock::now() + limit;
        context_.restart();
        while (!so() && clock::now() < end)
            context_.run_one_for(std::chrono::milliseconds(20));
        return so();
    }

private:
    mariadb_server& server_;
    const std::string database_;
    std::uint16_t port_ = server_.port();
    asio::io_context context_;
    const std::shared_ptr<coro::time_source> time_ =
        coro::make_boot_time_source(context_.get_executor());
};

}  // namespace mortise::test

#endif
