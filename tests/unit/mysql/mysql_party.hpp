// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_MYSQL_MYSQL_PARTY_HPP
#define MORTISE_TESTS_UNIT_MYSQL_MYSQL_PARTY_HPP

#include "mortise/db/mysql.hpp"
#include "support/mariadb_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/mysql/any_connection.hpp>

#include <exception>
#include <string>
#include <utility>

namespace mortise::test {

namespace asio = boost::asio;

/// How an operation ended, without its value.
class ended_with {
public:
    ended_with() = default;
    ended_with(error_code why, std::string message) : code(why), text(std::move(message)) {}

    error_code code;
    std::string text;
};

/// Awaits an operation and tells how it ended.
template <class Operation>
asio::awaitable<ended_with> end_of(Operation operation) {
    try {
        co_await std::move(operation);
    } catch (const boost::system::system_error& thrown) {
        co_return ended_with(thrown.code(), thrown.what());
    }
    co_return ended_with();
}

/// A database of the test's own at a server, and a context to use it from.
class mysql_party {
public:
    explicit mysql_party(mariadb_server& at = shared_mariadb())
        : server(at), database(at.create_database()) {}

    db::mysql_config config() const;
    db::mysql open() { return open(config()); }
    db::mysql open(db::mysql_config chosen) {
        return db::mysql(context.get_executor(), std::move(chosen));
    }

    /// Runs a statement as somebody else, on a connection of its own.
    std::string run(const std::string& sql) const { return server.run(sql, database); }
    /// Whether a connection to the server waits for a row lock.
    bool waits() const;
    /// Whether no connection to the database is left, and so no transaction there.
    bool is_alone() const;
    /// Whether the server still has the connection.
    bool has(std::uint32_t connection) const;

    /// Runs `work()`, a coroutine, to its end.
    template <class Work>
    void finish(Work work) {
        bool done = false;
        std::exception_ptr failure;
        asio::co_spawn(context, std::move(work), [&](std::exception_ptr thrown) {
            failure = thrown;
            done = true;
        });
        context.restart();
        while (!done && context.run_one() > 0)
            continue;
        if (failure)
            std::rethrow_exception(failure);
    }

    mariadb_server& server;
    const std::string database;
    asio::io_context context{1};
};

/// Somebody else's transaction, on a connection that blocks.
class other_transaction {
public:
    explicit other_transaction(const mysql_party& party);

    void run(const std::string& sql);

private:
    asio::io_context context_;
    boost::mysql::any_connection connection_;
};

}  // namespace mortise::test

#endif
