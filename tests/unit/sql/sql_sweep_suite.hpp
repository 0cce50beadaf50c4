// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_SQL_SWEEP_SUITE_HPP
#define MORTISE_TESTS_UNIT_SQL_SQL_SWEEP_SUITE_HPP

#include "mortise/db/optimistic.hpp"
#include "mortise/db/row_locks.hpp"
#include "mortise/db/unique_row.hpp"
#include "mortise/fence/sql.hpp"
#include "support/cancel_sweep.hpp"
#include "support/eventually.hpp"
#include "unit/sql/sql_scene.hpp"

// Helpers at a server, cancelled before each of their handlers.
namespace mortise::test {

/// The world of each step: all steps of a test share one scene.
template <class Scene>
class swept_world {
public:
    swept_world() : context(scene->context) {}

    void step_while(const std::function<bool()>& wanted) {
        context.restart();
        while (wanted())
            context.run_one_for(std::chrono::milliseconds(10));
    }
    void settle() {
        context.restart();
        context.run_for(std::chrono::seconds(60));
    }

    static inline std::unique_ptr<Scene> scene;
    asio::io_context& context;
};

/// An operation `(session, number)` that makes a number in the database greater by one: the amount
/// of a row, with the token of its fence, or the number of unique rows.
template <class Scene, class Operation>
class swept_change final : public sweep_case {
public:
    swept_change(swept_world<Scene>& world, Operation operation)
        : world_(world), operation_(std::move(operation)), before_(state()) {}

    asio::awaitable<void> operation() override { return operation_(session_, before_); }

    void check(const co_world::outcome& outcome) override {
        const error_code code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code;
        const std::int64_t after = state();
        EXPECT_EQ(after, code ? before_ : before_ + 1);
        EXPECT_TRUE(eventually([&] {
            try {
                scene().sql("UPDATE stock SET note = note + 1");
                return true;
            } catch (const std::exception&) {
                return false;  // a lock that lasts longer than the server waits
            }
        })) << "a lock is left";
    }

private:
    static Scene& scene() { return *swept_world<Scene>::scene; }
    static std::int64_t state() {
        return std::stoll(
            scene().sql("SELECT CASE WHEN (SELECT count(*) FROM mortise_fence WHERE"
                        " token <> (SELECT amount FROM stock)) = 0 THEN amount + (SELECT"
                        " count(*) FROM mortise_unique_row) ELSE -1 END FROM stock")
        );
    }

    swept_world<Scene>& world_;
    typename Scene::session_type session_ = scene().open();
    Operation operation_;
    const std::int64_t before_;
};

template <class Scene>
class SqlSweep : public testing::Test {
protected:
    using session = typename Scene::session_type;
    using world = swept_world<Scene>;

    SqlSweep() {
        world::scene = std::make_unique<Scene>();
        session shop = world::scene->open();
        asio::co_spawn(world::scene->context, prepare(shop), [](std::exception_ptr failure) {
            EXPECT_FALSE(failure);
        });
        world().settle();
        world::scene->sql("CREATE TABLE stock(id BIGINT PRIMARY KEY, amount BIGINT NOT NULL,"
                          " note BIGINT NOT NULL, version BIGINT NOT NULL)");
        world::scene->sql("INSERT INTO stock VALUES (1, 1, 0, 0)");
    }
    ~SqlSweep() override { world::scene.reset(); }

    static asio::awaitable<void> prepare(session& shop) {
        co_await sql_fence::make_tables(shop);
        co_await db::make_unique_row_table(shop);
        co_await shop.async_stop();
    }

    template <class Operation>
    static std::size_t sweep(const char* name, asio::cancellation_type type, Operation operation) {
        return cancel_sweep<world>(name, type, [operation](world& at) {
            return std::make_unique<swept_change<Scene, Operation>>(at, operation);
        });
    }
};

TYPED_TEST_SUITE_P(SqlSweep);

TYPED_TEST_P(SqlSweep, ATransactionWithLocksAndAFenceIsDoneOrLeavesNothing) {
    const auto change = [](auto& shop, std::int64_t amount) -> asio::awaitable<void> {
        auto work = [amount](auto& on) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            const auto value = static_cast<std::uint64_t>(amount + 1);
            co_await sql_fence::raise(on, "s", {value, *token_domain::parse("locks")});
            co_await db::lock_row(on, db::table_row("stock", 1), std::chrono::seconds(30));
            co_await ask(on, "UPDATE stock SET amount = amount + 1");
        };
        co_await shop.async_run(work);
    };
    using types = asio::cancellation_type;
    EXPECT_GE(this->sweep("lock_row", types::terminal, change), 10u);
    EXPECT_GE(this->sweep("sql_fence::raise", types::total, change), 10u);
}

TYPED_TEST_P(SqlSweep, AnOptimisticUpdateIsWrittenAsAWholeOrNotAtAll) {
    const auto change = [](auto& shop, std::int64_t) -> asio::awaitable<void> {
        const auto body = [](db::row& stock) -> asio::awaitable<void> {
            stock.set("amount", stock.integer("amount") + 1);
            co_return;
        };
        co_await db::optimistic_update(shop, db::versioned_row("stock", 1), {}, body);
    };
    EXPECT_GE(this->sweep("optimistic_update", asio::cancellation_type::terminal, change), 8u);
}

TYPED_TEST_P(SqlSweep, AUniqueRowIsTakenOrNot) {
    const auto change = [](auto& shop, std::int64_t amount) -> asio::awaitable<void> {
        const db::unique_row wanted("lock " + std::to_string(amount), "me");
        const auto got = co_await db::take_unique_row(shop, wanted, std::chrono::hours(1));
        EXPECT_TRUE(got);
    };
    EXPECT_GE(this->sweep("take_unique_row", asio::cancellation_type::terminal, change), 6u);
}

REGISTER_TYPED_TEST_SUITE_P(
    SqlSweep,
    ATransactionWithLocksAndAFenceIsDoneOrLeavesNothing,
    AnOptimisticUpdateIsWrittenAsAWholeOrNotAtAll,
    AUniqueRowIsTakenOrNot
);

}  // namespace mortise::test

#endif
