// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_SQL_SCENE_HPP
#define MORTISE_TESTS_UNIT_SQL_SQL_SCENE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/transaction_options.hpp"
#include "mortise/error.hpp"
#include "support/awaited.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Tests of the helpers that all SQL databases have. A scene is a database of a test's own: it has
// `session_type`, `open()`, a `context`, `sql()` by a connection of its own, and, at a server,
// `waiting()`: how many connections wait for a row there.
namespace mortise::test {

/// The end of a coroutine that was started.
class sql_outcome {
public:
    bool ended = false;
    std::exception_ptr failure;

    error_code code() const {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (const boost::system::system_error& e) {
            return e.code();
        }
        return {};
    }
    std::string text() const {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (const std::exception& e) {
            return e.what();
        }
        return {};
    }
};

template <class Scene>
class SqlScene : public testing::Test {
public:
    using session_type = typename Scene::session_type;
    using outcome = std::shared_ptr<sql_outcome>;

    template <class T>
    T run(asio::awaitable<T> task) {
        std::optional<T> value;
        run(keep_result(std::move(task), value));
        return std::move(*value);
    }
    void run(asio::awaitable<void> task) {
        const outcome end = start(std::move(task));
        run_until([&] { return end->ended; });
        if (end->failure)
            std::rethrow_exception(end->failure);
    }
    template <class T>
    error_code code_of(asio::awaitable<T> task) {
        try {
            run(ignore_result(std::move(task)));
        } catch (const boost::system::system_error& e) {
            return e.code();
        }
        return {};
    }

    outcome start(asio::awaitable<void> task, asio::cancellation_slot slot = {}) {
        const auto end = std::make_shared<sql_outcome>();
        asio::co_spawn(
            scene.context,
            std::move(task),
            asio::bind_cancellation_slot(
                slot,
                [end](std::exception_ptr failure) {
                    end->ended = true;
                    end->failure = std::move(failure);
                }
            )
        );
        return end;
    }
    void run_until(const std::function<bool()>& so) {
        const auto limit = clock::now() + std::chrono::seconds(60);
        scene.context.restart();
        while (!so()) {
            if (clock::now() > limit)
                throw std::logic_error("what is waited for does not happen");
            scene.context.run_one_for(std::chrono::milliseconds(10));
            scene.context.restart();
        }
    }
    void run_until_all_ended(const std::vector<outcome>& all) {
        for (const auto& each : all) {
            run_until([&] { return each->ended; });
            EXPECT_FALSE(each->failure) << each->text();
        }
    }
    void sql(const std::string& statement) const { static_cast<void>(scene.sql(statement)); }
    std::int64_t number(const std::string& query) const { return std::stoll(scene.sql(query)); }

    /// One transaction that does `work(connection)`, a coroutine without a result.
    template <class Work>
    asio::awaitable<void>
    transaction(session_type& at, Work work, db::transaction_options how = {}) {
        auto closure = [&work](auto& on) -> asio::awaitable<void> { co_await work(on); };
        auto running = at.async_run(closure, how);
        co_await std::move(running);
    }

    Scene scene;
    session_type session = scene.open();
};

/// A statement without parameters.
template <class Connection>
asio::awaitable<db::query_result> ask(Connection& on, std::string text) {
    auto asking = on.async_query(db::bound_sql(std::move(text)));
    co_return co_await std::move(asking);
}

/// A transaction that does `work(connection)`, says so, waits until it may go on, and is then
/// committed or rolled back.
template <class Test, class Work>
class pausing_transaction {
public:
    pausing_transaction(Test& test, Work work)
        : paused(test.scene.context.get_executor()),
          leave(test.scene.context.get_executor()),
          work_(std::move(work)) {
        end = test.start(run(test));
        test.run_until([this] { return paused.is_set() || end->ended; });
        EXPECT_FALSE(end->ended) << end->text();
    }
    void go_on(Test& test) {
        leave.set();
        test.run_until([this] { return end->ended; });
    }

    coro::event paused;
    coro::event leave;
    bool undo = false;
    std::shared_ptr<sql_outcome> end;

private:
    asio::awaitable<void> run(Test& test) {
        auto work = [this](auto& on) -> asio::awaitable<void> {
            co_await work_(on);
            paused.set();
            co_await leave.async_wait();
            if (undo)
                throw error(errc::busy, {}, {});
        };
        co_await test.transaction(test.session, work);
    }

    Work work_;
};

}  // namespace mortise::test

#endif
