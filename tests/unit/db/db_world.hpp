// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_DB_DB_WORLD_HPP
#define MORTISE_TESTS_UNIT_DB_DB_WORLD_HPP

#include "mortise/db/sqlite.hpp"
#include "support/awaited.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test {

/// A folder with a database of accounts, and a context in real time: sessions have threads.
class db_world {
public:
    db_world();
    ~db_world();
    db_world(const db_world&) = delete;
    db_world& operator=(const db_world&) = delete;

    db::sqlite_config config() const;
    db::sqlite open() { return open(config()); }
    db::sqlite open(db::sqlite_config with) { return {context.get_executor(), std::move(with)}; }

    std::filesystem::path database() const { return folder_ / "shop.db"; }
    std::uintmax_t log_size() const;

    /// The first number of the first row, by a connection of its own; zero if there is none.
    std::int64_t sql(const std::string& statement) const;
    std::int64_t cents(int id) const {
        return sql("SELECT cents FROM account WHERE id = " + std::to_string(id));
    }

    /// Until the coroutine ends. @throws what it throws.
    template <class T>
    T run(asio::awaitable<T> task) {
        std::optional<T> value;
        await(keep_result(std::move(task), value));
        return std::move(*value);
    }
    void run(asio::awaitable<void> task) { await(std::move(task)); }

    /// While `wanted()` holds, asked before each handler, and now and then while there is none.
    void step_while(const std::function<bool()>& wanted);
    /// Until nobody waits for anything.
    void settle();

    asio::io_context context;

private:
    void await(asio::awaitable<void> task);

    std::filesystem::path folder_;
};

/// Adds to an account; a closure for `async_run`.
inline auto add_cents(int id, int cents) {
    return [id, cents](db::connection& on) {
        on.run("UPDATE account SET cents = cents + ? WHERE id = ?", cents, id);
    };
}

/// Keeps a session's writing thread in a closure, so that all that comes meanwhile is one batch.
class write_blocker {
public:
    explicit write_blocker(db::sqlite& session);
    ~write_blocker() { release(); }
    write_blocker(const write_blocker&) = delete;
    write_blocker& operator=(const write_blocker&) = delete;

    void release();

private:
    struct gate {
        std::promise<void> entered;
        std::promise<void> leave;
    };
    std::shared_ptr<gate> gate_;
};

}  // namespace mortise::test

#endif
