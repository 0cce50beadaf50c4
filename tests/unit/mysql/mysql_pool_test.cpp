// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"
#include "support/eventually.hpp"
#include "support/tracker_executor.hpp"
#include "unit/mysql/mysql_party.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace mortise::test {
namespace {

using db::mysql_connection;

/// Transactions that stay open until they are let go, and note when they begin.
class crowd {
public:
    crowd(db::mysql& shop, asio::io_context& context)
        : shop_(shop), context_(context), open_(context.get_executor()) {}

    /// Starts one more.
    void add() {
        const auto number = static_cast<int>(ends.size());
        ends.push_back(std::make_unique<guest>());
        auto& each = *ends.back();
        const auto stay = [this, number](mysql_connection& on) { return enter(on, number); };
        shop_.async_run(
            stay,
            {},
            asio::bind_cancellation_slot(
                each.signal.slot(),
                [&each](std::exception_ptr failure) {
                    each.ended = true;
                    each.failure = failure;
                }
            )
        );
    }

    void let_all_go() { open_.set(); }

    template <class Wanted>
    void run_until(Wanted wanted) {
        context_.restart();
        while (!wanted() && context_.run_one() > 0)
            continue;
    }

    struct guest {
        asio::cancellation_signal signal;
        bool ended = false;
        std::exception_ptr failure;
    };
    std::vector<std::unique_ptr<guest>> ends;
    std::vector<int> order;
    int inside = 0;
    int inside_most = 0;

private:
    asio::awaitable<void> enter(mysql_connection& on, int number) {
        order.push_back(number);
        inside_most = std::max(inside_most, ++inside);
        auto asking = on.query("SELECT 1");
        co_await std::move(asking);
        co_await open_.async_wait();
        --inside;
    }

    db::mysql& shop_;
    asio::io_context& context_;
    coro::event open_;
};

error_code code_of(const crowd::guest& guest) {
    try {
        if (guest.failure)
            std::rethrow_exception(guest.failure);
    } catch (const boost::system::system_error& thrown) {
        return thrown.code();
    }
    return {};
}

bool all_ended(const crowd& all) {
    return std::all_of(all.ends.begin(), all.ends.end(), [](const auto& each) {
        return each->ended;
    });
}

TEST(MysqlPool, ServesInOrder) {
    mysql_party party;
    auto config = party.config();
    config.connections_max = 1;
    auto shop = party.open(config);
    crowd guests(shop, party.context);
    for (int i = 0; i < 6; ++i)
        guests.add();
    guests.let_all_go();
    guests.run_until([&] { return all_ended(guests); });
    EXPECT_EQ(guests.order.size(), 6u);
    EXPECT_TRUE(std::is_sorted(guests.order.begin(), guests.order.end()));
}

TEST(MysqlPool, HasALimit) {
    mysql_party party;
    auto config = party.config();
    config.connections_max = 2;
    auto shop = party.open(config);
    crowd guests(shop, party.context);
    for (int i = 0; i < 6; ++i)
        guests.add();
    guests.run_until([&] { return guests.inside == 2; });
    EXPECT_EQ(shop.stats().waiting, 4u);
    guests.let_all_go();
    guests.run_until([&] { return all_ended(guests); });
    for (const auto& each : guests.ends)
        EXPECT_FALSE(code_of(*each));
    EXPECT_EQ(guests.inside_most, 2);
    EXPECT_EQ(guests.order.size(), 6u);
    EXPECT_EQ(shop.stats().connections_opened, 2u);
    EXPECT_EQ(shop.stats().idle, 2u);
}

TEST(MysqlPool, EndsAWaitThatIsTooLong) {
    mysql_party party;
    auto config = party.config();
    config.connections_max = 1;
    config.wait_max = std::chrono::milliseconds(20);
    auto shop = party.open(config);
    crowd guests(shop, party.context);
    guests.add();
    guests.run_until([&] { return guests.inside == 1; });
    guests.add();
    guests.run_until([&] { return guests.ends[1]->ended; });
    EXPECT_EQ(code_of(*guests.ends[1]), errc::no_connection_free);
    guests.let_all_go();
    guests.run_until([&] { return all_ended(guests); });
    EXPECT_FALSE(code_of(*guests.ends[0]));
    EXPECT_EQ(guests.order, std::vector<int>{0});
}

TEST(MysqlPool, LetsAWaiterGoThatIsCancelled) {
    mysql_party party;
    auto config = party.config();
    config.connections_max = 1;
    auto shop = party.open(config);
    crowd guests(shop, party.context);
    guests.add();
    guests.run_until([&] { return guests.inside == 1; });
    guests.add();
    guests.add();
    guests.run_until([&] { return shop.stats().waiting == 2; });
    guests.ends[1]->signal.emit(asio::cancellation_type::total);
    guests.run_until([&] { return guests.ends[1]->ended; });
    EXPECT_EQ(code_of(*guests.ends[1]), asio::error::operation_aborted);
    guests.let_all_go();
    guests.run_until([&] { return all_ended(guests); });
    EXPECT_EQ(guests.order, (std::vector<int>{0, 2}));
}

TEST(MysqlPool, StopsWhenItsTransactionsHaveEnded) {
    mysql_party party;
    auto config = party.config();
    config.connections_max = 1;
    auto shop = party.open(config);
    crowd guests(shop, party.context);
    guests.add();
    guests.run_until([&] { return guests.inside == 1; });
    guests.add();
    guests.run_until([&] { return shop.stats().waiting == 1; });
    bool stopped = false;
    shop.async_stop([&](error_code code) {
        EXPECT_FALSE(code);
        stopped = true;
    });
    guests.run_until([&] { return guests.ends[1]->ended; });
    EXPECT_EQ(code_of(*guests.ends[1]), asio::error::operation_aborted);
    EXPECT_FALSE(stopped);
    guests.let_all_go();
    guests.run_until([&] { return stopped && guests.ends[0]->ended; });
    EXPECT_FALSE(code_of(*guests.ends[0])) << "a running transaction is let end";
    EXPECT_EQ(shop.stats().idle, 0u);
    ended_with late;
    party.finish([&]() -> asio::awaitable<void> {
        auto asking = end_of(shop.query("SELECT 1"));
        late = co_await std::move(asking);
    });
    EXPECT_EQ(late.code, asio::error::operation_aborted);
}

asio::awaitable<std::int64_t> connection_number(db::mysql& shop) {
    auto asking = shop.query("SELECT CONNECTION_ID()");
    const auto found = co_await std::move(asking);
    co_return found.first().integer(0);
}

TEST(MysqlPool, ReplacesAConnectionAfterItsLifetime) {
    mysql_party party;
    auto config = party.config();
    config.lifetime_max = std::chrono::milliseconds(1);
    auto shop = party.open(config);
    std::int64_t first = 0;
    std::int64_t second = 0;
    party.finish([&]() -> asio::awaitable<void> { first = co_await connection_number(shop); });
    ::poll(nullptr, 0, 2);  // it gets old
    party.finish([&]() -> asio::awaitable<void> { second = co_await connection_number(shop); });
    EXPECT_NE(first, second);
    EXPECT_EQ(shop.stats().connections_opened, 2u);
    party.context.restart();
    party.context.run();  // takes leave
    EXPECT_TRUE(eventually([&] { return !party.has(static_cast<std::uint32_t>(first)); }));
}

TEST(MysqlPool, CompletesOnTheExecutorOfTheHandlerAndNeverInside) {
    mysql_party party;
    auto shop = party.open();
    const tracker_executor tracker(party.context);
    int completed = 0;
    bool inside = true;
    const auto work = [&tracker](mysql_connection& on) -> asio::awaitable<void> {
        EXPECT_TRUE(tracker.runs_this()) << "the closure runs where its caller does";
        auto asking = on.query("SELECT ?", 1);
        co_await std::move(asking);
        EXPECT_TRUE(tracker.runs_this());
    };
    const auto judge = [&](auto&&...) {
        EXPECT_TRUE(tracker.runs_this());
        EXPECT_FALSE(inside);
        ++completed;
    };
    const auto run_until = [&](int count) {
        inside = false;
        party.context.restart();
        while (completed < count && party.context.run_one() > 0)
            continue;
        inside = true;
    };
    shop.async_run(work, {}, asio::bind_executor(tracker, judge));
    run_until(1);
    shop.async_query(db::bound_sql("SELECT 1"), asio::bind_executor(tracker, judge));
    run_until(2);
    shop.async_stop(asio::bind_executor(tracker, judge));
    run_until(3);
    EXPECT_EQ(completed, 3);
}

// Any thread may begin, cancel and end transactions; the sanitizers judge.
TEST(MysqlPool, ServesManyThreads) {
    mysql_party party;
    party.run("CREATE TABLE account (id INT PRIMARY KEY, cents INT NOT NULL)");
    party.run("INSERT INTO account VALUES (1, 0)");
    auto config = party.config();
    config.connections_max = 4;
    asio::thread_pool threads(4);
    std::atomic<int> written{0};
    {
        db::mysql shared(threads.get_executor(), config);
        constexpr int coroutines = 16;
        constexpr int rounds = 8;
        const auto use = [&shared, &written](int number) -> asio::awaitable<void> {
            const auto work = [](mysql_connection& on) -> asio::awaitable<void> {
                auto adding = on.query("UPDATE account SET cents = cents + 1 WHERE id = ?", 1);
                co_await std::move(adding);
            };
            for (int round = 0; round < rounds; ++round) {
                if (number % 4 != 0) {
                    co_await shared.async_run(work);
                    ++written;
                    continue;
                }
                auto timed = shared.async_run(
                    work,
                    {},
                    asio::cancel_after(
                        std::chrono::microseconds(700 * round), asio::as_tuple(asio::deferred)
                    )
                );
                const auto outcome = co_await std::move(timed);
                if (!std::get<0>(outcome))
                    ++written;
            }
        };
        for (int i = 0; i < coroutines; ++i) {
            asio::co_spawn(asio::make_strand(threads), use(i), [](std::exception_ptr failure) {
                EXPECT_FALSE(failure);
            });
        }
        threads.join();
        EXPECT_EQ(shared.stats().in_use, 0u);
        EXPECT_GE(written, coroutines * rounds * 3 / 4);
    }
    EXPECT_EQ(party.run("SELECT cents FROM account"), std::to_string(written));
}

TEST(MysqlPool, IsLeftAloneByAForkedChild) {
    mysql_party party;
    auto shop = std::make_unique<db::mysql>(party.open());
    std::int64_t before = 0;
    party.finish([&]() -> asio::awaitable<void> { before = co_await connection_number(*shop); });
    const pid_t child = ::fork();
    if (child == 0) {
        shop.reset();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    std::int64_t after = 0;
    party.finish([&]() -> asio::awaitable<void> { after = co_await connection_number(*shop); });
    EXPECT_EQ(after, before);
}

TEST(MysqlPool, EndsWithItsContext) {
    mysql_party party;
    auto context = std::make_unique<asio::io_context>(1);
    db::mysql shop(context->get_executor(), party.config());
    {
        crowd guests(shop, *context);
        guests.add();
        guests.add();
        guests.run_until([&] { return guests.inside == 2; });
        context.reset();  // with transactions open, and before the session
        EXPECT_EQ(guests.ends.size(), 2u);
        EXPECT_FALSE(guests.ends[0]->ended);
    }
    EXPECT_TRUE(eventually([&] { return party.is_alone(); }));
}

}  // namespace
}  // namespace mortise::test
