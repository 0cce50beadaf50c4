// SPDX-License-Identifier: BSL-1.0
// Contexts that end before the work that was begun on them: the caller's, or the session's.
#include "mortise/coro/event.hpp"
#include "support/eventually.hpp"
#include "support/statement_proxy.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace mortise::test::session_context_test {
namespace {

using connection = session_kind::connection;
using deed = statement_proxy::deed;
using std::chrono::milliseconds;

constexpr const char* add_one = "UPDATE account SET cents = cents + 1 WHERE id = 1";

/// A closure that owns something, as does each of its frames.
class holding_work {
public:
    explicit holding_work(std::shared_ptr<int> held) : held_(std::move(held)) {}

    asio::awaitable<void> operator()(connection& on) const {
        const auto kept = held_;
        for (int i = 0; i < 2; ++i) {
            auto adding = on.query(add_one);
            co_await std::move(adding);
            co_await asio::post(asio::use_awaitable);
        }
    }

private:
    std::shared_ptr<int> held_;
};

/// A transaction that runs a statement, and then keeps its connection until it is let go.
class kept_transaction {
public:
    kept_transaction(
        session_world& world, session_world::session& session, std::string statement = "SELECT 1"
    )
        : world_(world), gate_(world.context.get_executor()), statement_(std::move(statement)) {
        const auto keep = [this](connection& on) -> asio::awaitable<void> {
            auto asking = on.query(statement_);
            co_await std::move(asking);
            keeps_ = true;
            co_await gate_.async_wait();
        };
        session.async_run(keep, {}, [this](std::exception_ptr why) { done_ = !why; });
        EXPECT_TRUE(world.reaches([this] { return keeps_; }));
    }

    void let_go() {
        gate_.set();
        EXPECT_TRUE(world_.reaches([this] { return done_; }));
    }

private:
    session_world& world_;
    coro::event gate_;
    const std::string statement_;
    bool keeps_ = false;
    bool done_ = false;
};

class SessionContext : public testing::Test {
protected:
    SessionContext() {
        config.connections_max = 1;  // so that one that is lost is missed
        config.check_after = std::chrono::hours(1);
    }
    void open() { session = std::make_unique<session_world::session>(world.open(config)); }

    /// Starts a transaction for a caller in `other`, who holds `held` as long as it lives.
    template <class Work>
    void start(Work work, db::transaction_options options = {}) {
        session->async_run(
            std::move(work),
            options,
            asio::bind_executor(
                other->get_executor(),
                [kept = held](std::exception_ptr) { FAIL() << "its context has ended"; }
            )
        );
    }
    /// Starts such a transaction that may end, and runs handlers of both contexts, up to `most`.
    /// @return whether it has ended
    bool run_handlers(asio::io_context& home, int most) {
        other = std::make_unique<asio::io_context>();
        const auto ended = std::make_shared<bool>(false);
        session->async_run(
            holding_work(held),
            {},
            asio::bind_executor(
                other->get_executor(), [ended, kept = held](std::exception_ptr) { *ended = true; }
            )
        );
        int handlers = 0;
        const auto end = clock::now() + std::chrono::seconds(60);
        while (!*ended && handlers < most && clock::now() < end) {
            other->restart();
            home.restart();
            const auto ran = other->poll_one();
            handlers += static_cast<int>(ran > 0 ? ran : home.run_one_for(milliseconds(10)));
        }
        EXPECT_TRUE(*ended || handlers == most);
        return *ended;
    }
    /// Ends the context of the caller, and checks that nothing of it is left.
    void end_other() {
        other.reset();
        EXPECT_EQ(held.use_count(), 1) << "the caller's handler and closure went with it";
    }
    /// Runs handlers of both contexts until `so()` holds.
    [[nodiscard]] bool reaches(const std::function<bool()>& so) {
        return world.reaches([&] {
            if (other) {
                other->restart();
                other->poll_one();
            }
            return so();
        });
    }
    void expect_idle() {
        EXPECT_TRUE(reaches([&] {
            const auto now = session->stats();
            return now.in_use == 0 && now.waiting == 0;
        })) << "the connection came back, or was closed";
    }
    /// Whether the session is as good as before, and nothing is left at the server.
    void expect_alive(const std::string& cents) {
        expect_idle();
        EXPECT_EQ(world.cents(1), cents);
        auto adding = session->async_run(add_cents(1, 10), {}, asio::use_awaitable);
        EXPECT_EQ(text_of(world.failure_of(std::move(adding))), "") << "no lock is left";
    }

    session_world world;
    session_kind::config config = world.config();
    std::unique_ptr<asio::io_context> other = std::make_unique<asio::io_context>();
    std::unique_ptr<session_world::session> session;
    std::shared_ptr<int> held = std::make_shared<int>(0);
};

TEST_F(SessionContext, OfTheCallerMayEndBeforeEachHandler) {
    int step = 0;
    for (bool ended = false; !ended && !HasFailure(); ++step) {
        SCOPED_TRACE(step);
        const int before = std::stoi(world.cents(1));
        open();
        ended = run_handlers(world.context, step);
        end_other();
        expect_idle();
        const int after = std::stoi(world.cents(1));
        EXPECT_TRUE(after == before || after == before + 2) << "all or nothing";
        EXPECT_TRUE(after == before + 2 || !ended);
        expect_alive(std::to_string(after));
        EXPECT_LE(session->stats().connections_opened, 2u);
    }
    EXPECT_GE(step, 12);
}

TEST_F(SessionContext, OfTheSessionMayEndBeforeEachHandler) {
    int step = 0;
    for (bool ended = false; !ended && !HasFailure(); ++step) {
        auto home = std::make_unique<asio::io_context>();
        session = std::make_unique<session_world::session>(home->get_executor(), config);
        ended = run_handlers(*home, step);
        home.reset();
        other->restart();
        other->poll();  // the closure may go on, until it wants something of the session
        if (step % 2 == 0)
            session.reset();
        end_other();
        session.reset();
    }
    EXPECT_GE(step, 12);
    EXPECT_TRUE(eventually([&] { return world.connections() == 0; }));
}

TEST_F(SessionContext, OfTheCallerMayEndWhileItWaitsForAConnection) {
    open();
    kept_transaction first(world, *session);
    start(holding_work(held));
    session->async_query(
        db::bound_sql(add_one),
        asio::bind_executor(other->get_executor(), [kept = held](std::exception_ptr, auto&&) {})
    );
    ASSERT_TRUE(reaches([&] { return session->stats().waiting == 2; }));
    end_other();
    EXPECT_TRUE(reaches([&] { return session->stats().waiting == 0; }));
    first.let_go();
    expect_alive("100");
}

TEST_F(SessionContext, OfTheCallerMayEndWhileItsClosureWaitsForSomethingElse) {
    open();
    bool inside = false;
    const auto wait = [&inside, kept = held](connection& on) -> asio::awaitable<void> {
        auto adding = on.query(add_one);
        co_await std::move(adding);
        inside = true;
        asio::ip::tcp::acceptor nobody(
            co_await asio::this_coro::executor, {asio::ip::address_v4::loopback(), 0}
        );
        co_await nobody.async_accept(asio::use_awaitable);
    };
    start(wait);
    ASSERT_TRUE(reaches([&] { return inside; }));
    EXPECT_EQ(held.use_count(), 3 + 1) << "the closure here, its copy, and the handler";
    other.reset();
    EXPECT_EQ(held.use_count(), 2) << "the closure here";
    expect_alive("100");
    EXPECT_EQ(session->stats().rolled_back, 1u);
}

TEST_F(SessionContext, OfTheCallerMayEndWhileAStatementRuns) {
    open();
    auto others = world.open();
    kept_transaction blocker(world, others, "UPDATE account SET cents = 1 + cents WHERE id = 1");
    start(holding_work(held));
    EXPECT_TRUE(reaches([&] { return world.sql(session_kind::running(add_one)) != "0"; }));
    end_other();
    EXPECT_TRUE(reaches([&] { return session->stats().in_use == 0; }))
        << "the statement was cancelled, although the row is locked still";
    EXPECT_EQ(session->stats().cancelled, 1u);
    EXPECT_EQ(session->stats().rolled_back, 1u);
    blocker.let_go();
    expect_alive("101");
}

TEST_F(SessionContext, OfTheCallerMayEndWhileAStatementByItselfRuns) {
    open();
    session->async_query(
        db::bound_sql(session_kind::sleep_long),
        asio::bind_executor(
            other->get_executor(), [kept = held](std::exception_ptr, auto&&) { FAIL(); }
        )
    );
    EXPECT_TRUE(world.await_running("3600"));
    end_other();
    expect_alive("100");
    EXPECT_EQ(session->stats().cancelled, 1u);
}

TEST_F(SessionContext, OfTheCallerMayEndDuringTheCommit) {
    statement_proxy proxy(world.context.get_executor(), world.server().port());
    session_kind::place(config, proxy.port());
    config.cancel_max = milliseconds(50);
    open();
    proxy.at("COMMIT", deed::stall);
    start(holding_work(held));
    ASSERT_TRUE(reaches([&] { return !proxy.pending(); }));
    end_other();
    EXPECT_TRUE(reaches([&] { return world.cents(1) == "102"; })) << "a commit goes on";
    expect_alive("102");
    EXPECT_EQ(session->stats().commits_unknown, 1u);
}

TEST_F(SessionContext, OfTheCallerMayEndBetweenTwoAttempts) {
    open();
    db::transaction_options options;
    options.attempts_max = 2;
    options.pause.first = options.pause.max = std::chrono::hours(1);
    const auto conflict = [kept = held](connection& on) -> asio::awaitable<void> {
        auto failing = on.query(session_kind::conflict);
        co_await std::move(failing);
    };
    start(conflict, options);
    ASSERT_TRUE(reaches([&] { return session->stats().repeated == 1; }));
    other.reset();
    EXPECT_EQ(held.use_count(), 2) << "the closure here";
    expect_alive("100");
    bool stopped = false;
    session->async_stop([&](error_code code) { stopped = !code; });
    EXPECT_TRUE(reaches([&] { return stopped; })) << "no transaction is left";
}

TEST_F(SessionContext, OfTheOneWhoStopsTheSessionMayEnd) {
    open();
    kept_transaction last(world, *session);
    session->async_stop(asio::bind_executor(other->get_executor(), [kept = held](error_code) {
        FAIL() << "its context has ended";
    }));
    world.context.poll();
    end_other();
    bool stopped = false;
    session->async_stop([&](error_code code) { stopped = !code; });
    last.let_go();
    EXPECT_TRUE(reaches([&] { return stopped; }));
}

// Callers on threads of their own, whose contexts end while the session serves them and others; the
// sanitizers judge.
TEST_F(SessionContext, OfCallersMayEndWhileTheSessionRunsOnAnotherThread) {
    config.connections_max = 3;
    open();
    auto alive = asio::make_work_guard(world.context);
    world.context.restart();
    std::thread runner([&] { world.context.run(); });
    constexpr int rounds = 30;
    for (int round = 0; round < rounds; ++round) {
        asio::io_context callers;
        for (int i = 0; i < 6; ++i)
            session->async_run(
                holding_work(held),
                {},
                asio::bind_executor(callers.get_executor(), [kept = held](std::exception_ptr) {})
            );
        callers.run_for(milliseconds(round % 10));
    }
    EXPECT_EQ(held.use_count(), 1);
    alive.reset();
    runner.join();
    world.context.restart();
    expect_alive(world.cents(1));
}

}  // namespace
}  // namespace mortise::test::session_context_test
