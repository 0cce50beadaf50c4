// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_POSTGRES_POSTGRES_WORLD_HPP
#define MORTISE_TESTS_UNIT_POSTGRES_POSTGRES_WORLD_HPP

#include "mortise/db/postgres.hpp"
#include "support/postgres_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

/// A table of accounts at a server, and a context in real time. The server is the one that the
/// tests of this program share, unless there is another.
class postgres_world {
public:
    explicit postgres_world(postgres_server& at = shared_postgres());
    postgres_world(const postgres_world&) = delete;
    postgres_world& operator=(const postgres_world&) = delete;

    postgres_server& server() const noexcept { return server_; }
    db::postgres_config config() const { return db::parse_postgres_url(server_.url()); }
    db::postgres open() { return open(config()); }
    db::postgres open(db::postgres_config with) {
        return db::postgres(context.get_executor(), std::move(with));
    }

    /// The first value of the first row, on an administrator's connection, which all worlds at one
    /// server share. @throws std::runtime_error
    std::string sql(const std::string& statement) const;
    std::string cents(int id) const {
        return sql("SELECT cents FROM account WHERE id = " + std::to_string(id));
    }
    /// How many connections the sessions of mortise have at the server.
    int connections() const;
    /// Waits until a statement that contains this text runs at the server and waits for something.
    bool await_running(const std::string& text) const;

    /// Until the coroutine ends. @throws what it throws.
    template <class T>
    T run(asio::awaitable<T> task) {
        std::optional<T> value;
        await(keep(std::move(task), value));
        return std::move(*value);
    }
    void run(asio::awaitable<void> task) { await(std::move(task)); }
    /// The failure of the coroutine; null if it ends well.
    template <class T>
    std::exception_ptr failure_of(asio::awaitable<T> task) {
        try {
            static_cast<void>(run(ignore(std::move(task))));
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    /// While `wanted()` holds, asked before each handler, and now and then while there is none.
    void step_while(const std::function<bool()>& wanted);
    /// Until nobody waits for anything.
    void settle();

    asio::io_context context;

private:
    template <class T>
    static asio::awaitable<void> keep(asio::awaitable<T> task, std::optional<T>& value) {
        value.emplace(co_await std::move(task));
    }
    template <class T>
    static asio::awaitable<int> ignore(asio::awaitable<T> task) {
        static_cast<void>(co_await std::move(task));
        co_return 0;
    }
    static asio::awaitable<int> ignore(asio::awaitable<void> task) {
        co_await std::move(task);
        co_return 0;
    }
    void await(asio::awaitable<void> task);

    postgres_server& server_;
};

/// The code of a failure; no error if there is none. Any other exception is `work_threw`.
error_code code_of(const std::exception_ptr& failure);
/// The text of a failure; empty if there is none.
std::string text_of(const std::exception_ptr& failure);

/// Adds to an account; a closure for `async_run`.
inline auto add_cents(int id, int cents) {
    return [id, cents](db::postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = cents + $1 WHERE id = $2", cents, id);
    };
}

}  // namespace mortise::test

#endif
