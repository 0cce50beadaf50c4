// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SESSION_SESSION_WORLD_HPP
#define MORTISE_TESTS_UNIT_SESSION_SESSION_WORLD_HPP

#include "support/awaited.hpp"
#include "unit/session/session_kind.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

namespace asio = boost::asio;

/// A table of accounts at a server, and a context in real time. The server is the one that the
/// tests of this program share, unless there is another.
class session_world {
public:
    using session = session_kind::session;
    using config_type = session_kind::config;

    explicit session_world(session_kind::server& at = session_kind::shared());
    session_world(const session_world&) = delete;
    session_world& operator=(const session_world&) = delete;

    session_kind::server& server() const noexcept { return server_; }
    const std::string& database() const noexcept { return database_; }
    config_type config() const { return session_kind::config_of(server_, database_); }
    session open() { return open(config()); }
    session open(config_type with) { return session(context.get_executor(), std::move(with)); }

    /// The first value of the first row, as an administrator. @throws std::runtime_error
    std::string sql(const std::string& statement) const {
        return session_kind::sql(server_, database_, statement);
    }
    std::string cents(int id) const {
        return sql("SELECT cents FROM account WHERE id = " + std::to_string(id));
    }
    /// How many connections sessions have at the server.
    int connections() const { return std::stoi(sql(session_kind::connections())); }
    void end_connections() const { session_kind::end_connections(server_, database_); }
    /// Waits until a statement that contains this text runs at the server, while handlers run.
    bool await_running(const std::string& text);

    /// Until the coroutine ends. @throws what it throws.
    template <class T>
    T run(asio::awaitable<T> task) {
        std::optional<T> value;
        await(keep_result(std::move(task), value));
        return std::move(*value);
    }
    void run(asio::awaitable<void> task) { await(std::move(task)); }
    /// The failure of the coroutine; null if it ends well.
    template <class T>
    std::exception_ptr failure_of(asio::awaitable<T> task) {
        try {
            run(ignore_result(std::move(task)));
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    /// Whether a session refuses its settings after this change.
    template <class Change>
    bool refuses(Change change) {
        auto with = config();
        change(with);
        try {
            open(with);
        } catch (const error& why) {
            return why.code() == errc::bad_config;
        }
        return false;
    }

    /// While `wanted()` holds, asked before each handler, and now and then while there is none.
    void step_while(const std::function<bool()>& wanted);
    /// Runs handlers until `so()` holds. @return whether it did in a minute
    [[nodiscard]] bool reaches(const std::function<bool()>& so);
    /// Until nobody waits for anything.
    void settle();

    asio::io_context context;

private:
    void await(asio::awaitable<void> task);

    session_kind::server& server_;
    const std::string database_;
};

/// A second server, for tests that stop or suspend it: it runs when this returns.
session_kind::server& spare_server();

/// The code of a failure; no error if there is none. Any other exception is `work_threw`.
error_code code_of(const std::exception_ptr& failure);
/// The text of a failure; empty if there is none.
std::string text_of(const std::exception_ptr& failure);

/// Adds to an account; a closure for `async_run`.
inline auto add_cents(int id, int cents) {
    return [id, cents](session_kind::connection& on) -> asio::awaitable<void> {
        const auto text = session_kind::marked("UPDATE account SET cents = cents + ? WHERE id = ?");
        auto adding = on.query(text, cents, id);
        co_await std::move(adding);
    };
}

}  // namespace mortise::test

#endif
