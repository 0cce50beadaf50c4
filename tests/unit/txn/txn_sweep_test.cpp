// SPDX-License-Identifier: BSL-1.0
// What waits in txn/, cancelled before each of its handlers.
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/log_reader.hpp"
#include "mortise/txn/operator_order.hpp"
#include "mortise/txn/overdue_sweeper.hpp"
#include "mortise/txn/sqlite_participant.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"
#include "unit/db/db_world.hpp"
#include "unit/txn/scripted_participant.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace mortise::test::txn_sweep_test {
namespace {

class TxnSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, TxnSweep, testing::ValuesIn(cancellation_types), param_name());

/// A coordinator with two participants.
class txn_case : public sweep_case {
protected:
    explicit txn_case(db_world& world)
        : world_(world), tcc_(world.context.get_executor(), config(world)) {}

    static txn::transaction of_both() {
        txn::transaction transaction;
        transaction.add("stock", "");
        transaction.add("wallet", "");
        return transaction;
    }

    /// Everything has ended the same way, for every participant.
    void expect_settled() {
        EXPECT_EQ(tcc_.stats().open, 0u);
        const auto ends = stock_->operations() + '|' + wallet_->operations();
        const bool confirmed = ends.find("confirm") != std::string::npos;
        EXPECT_TRUE(!confirmed || ends.find("cancel") == std::string::npos) << ends;
        for (const auto& each : {stock_->operations(), wallet_->operations()}) {
            EXPECT_TRUE(each.empty() || each == (confirmed ? "try confirm" : "try cancel")) << each;
        }
    }
    void expect_alive() {
        const auto before = tcc_.stats().confirmed;
        const auto outcome = world_.run(tcc_.async_run(of_both(), asio::use_awaitable));
        EXPECT_TRUE(outcome.confirmed());
        EXPECT_EQ(tcc_.stats().confirmed, before + 1);
    }

    db_world& world_;
    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    std::shared_ptr<scripted_participant> wallet_ = std::make_shared<scripted_participant>();
    txn::coordinator tcc_;

private:
    txn::coordinator_config config(const db_world& world) const {
        txn::coordinator_config config;
        config.log = world.database().parent_path() / "log.db";
        config.participants.emplace("stock", stock_);
        config.participants.emplace("wallet", wallet_);
        return config;
    }
};

class running final : public txn_case {
public:
    explicit running(db_world& world) : txn_case(world) {}

    asio::awaitable<void> operation() override {
        auto doing = tcc_.async_run(of_both());
        outcome_ = co_await std::move(doing);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        expect_settled();
        if (outcome_) {
            EXPECT_FALSE(outcome_->unknown());
            EXPECT_EQ(outcome_->confirmed(), stock_->operations() == "try confirm");
        } else {
            EXPECT_EQ(tcc_.stats().begun, 0u) << "it was cancelled before it was started";
        }
        EXPECT_TRUE(!outcome_ || outcome_->confirmed() || outcome_->why() == txn::errc::withdrawn);
        expect_alive();
    }

private:
    std::optional<txn::outcome> outcome_;
};

TEST_P(TxnSweep, ATransactionIsCarriedOutAsAWholeOrCancelledAsAWhole) {
    const auto steps = cancel_sweep<db_world>("coordinator::async_run", GetParam(), [](auto& at) {
        return std::make_unique<running>(at);
    });
    EXPECT_GE(steps, 10u);
}

/// What can be asked about a transaction that is decided.
enum class question { outcome, end, view, list, counts, intervention };

class asking final : public txn_case {
public:
    asking(db_world& world, question question) : txn_case(world), question_(question) {
        gid_ = world.run(tcc_.async_run(of_both(), asio::use_awaitable)).gid();
    }

    asio::awaitable<void> operation() override {
        switch (question_) {
        case question::outcome: {
            auto looking = tcc_.async_outcome(gid_);
            note(co_await std::move(looking));
            break;
        }
        case question::end: {
            auto waiting = tcc_.async_settle(gid_);
            note(co_await std::move(waiting));
            break;
        }
        case question::view: {
            auto looking = tcc_.async_show(gid_);
            const auto found = co_await std::move(looking);
            answered_ = right_ = found && found->at == txn::standing::confirmed;
            break;
        }
        case question::list: {
            auto looking = tcc_.async_list(txn::list_filter::all, 0, 10);
            const auto found = co_await std::move(looking);
            answered_ = right_ = found.size() == 1 && found[0].gid == gid_;
            break;
        }
        case question::counts: {
            auto looking = tcc_.async_log_stats();
            const auto found = co_await std::move(looking);
            answered_ = right_ = found.forced >= 2 && found.transactions >= found.forced;
            break;
        }
        case question::intervention: {
            txn::intervention order;
            order.gid = gid_;
            auto doing = tcc_.async_intervene(order);
            co_await std::move(doing);
            answered_ = right_ = true;
            break;
        }
        }
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        const bool nothing_to_do = question_ == question::intervention &&
                                   (code == txn::errc::not_open || code == txn::errc::not_stuck);
        EXPECT_TRUE(!code || code == asio::error::operation_aborted || nothing_to_do)
            << code.message();
        EXPECT_TRUE(right_);
        EXPECT_TRUE(code || answered_);
        expect_settled();
        expect_alive();
    }

private:
    void note(const txn::outcome& outcome) {
        answered_ = true;
        right_ = outcome.confirmed();
    }

    const question question_;
    txn::gid gid_;
    bool answered_ = false;
    bool right_ = true;
};

TEST_P(TxnSweep, AQuestionThatWasCancelledChangesNothing) {
    const auto sweep = [](const char* name, question question) {
        cancel_sweep<db_world>(name, GetParam(), [question](auto& at) {
            return std::make_unique<asking>(at, question);
        });
    };
    sweep("coordinator::async_outcome", question::outcome);
    sweep("coordinator::async_settle", question::end);
    sweep("coordinator::async_show", question::view);
    sweep("coordinator::async_list", question::list);
    sweep("coordinator::async_log_stats", question::counts);
    sweep("coordinator::async_intervene", question::intervention);
}

/// An order to a coordinator, by way of its log.
class ordering final : public txn_case {
public:
    explicit ordering(db_world& world)
        : txn_case(world), log_(world.database().parent_path() / "log.db") {
        wallet_->answer_by([](const txn::call& call) -> result<txn::reply> {
            if (call.type == txn::operation::confirm)
                return txn::reply::refused("no");
            return txn::reply::done();
        });
        gid_ = world.run(tcc_.async_run(of_both(), asio::use_awaitable)).gid();
        world.step_while([this] { return tcc_.stats().stuck == 0; });
    }

    asio::awaitable<void> operation() override {
        txn::intervention order;
        order.type = txn::intervention::kind::skip;
        order.gid = gid_;
        auto leaving = txn::leave_operator_order(log_, order, std::chrono::seconds(20));
        result_ = co_await std::move(leaving);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        EXPECT_TRUE(code || result_ == error_code()) << "it was done";
        // A bell is heard by a thread, which nobody waits for.
        const txn::log_reader log(log_);
        const auto end = clock::now() + std::chrono::seconds(20);
        while (!log.show(gid_)->operator_orders.empty() && clock::now() < end)
            world_.settle();
        world_.settle();  // the end of the transaction, after what was done
        const auto found = log.show(gid_);
        ASSERT_TRUE(found);
        const bool done = found->actions.size() == 1;
        EXPECT_EQ(found->branches.at(1).skipped, done) << "as a whole or not at all";
        EXPECT_TRUE(done || code);
        EXPECT_TRUE(found->operator_orders.empty()) << "what was left was done";
        EXPECT_EQ(tcc_.stats().open, done ? 0u : 1u);
        wallet_->answer_by({});
        expect_alive();
    }

private:
    const std::filesystem::path log_;
    txn::gid gid_;
    std::optional<error_code> result_;
};

TEST_P(TxnSweep, AnOrderIsCarriedOutOrWasNeverGiven) {
    cancel_sweep<db_world>("leave_operator_order", GetParam(), [](auto& at) {
        return std::make_unique<ordering>(at);
    });
}

/// A transaction is under way while the coordinator is stopped.
class stopping final : public txn_case {
public:
    explicit stopping(db_world& world) : txn_case(world) {}

    asio::awaitable<void> operation() override {
        tcc_.async_run(of_both(), [this](error_code code, const txn::outcome& outcome) {
            reported_ = true;
            code_ = code;
            outcome_ = outcome;
        });
        begun_ = true;
        auto ending = tcc_.async_stop();
        co_await std::move(ending);
        ended_ = true;
    }
    void check(const co_world::outcome&) override {
        if (!begun_)
            return;
        EXPECT_TRUE(reported_);
        EXPECT_TRUE(code_ == txn::errc::stopped || (!code_ && !outcome_.unknown()))
            << code_.message();
        EXPECT_TRUE(ended_);
    }

private:
    bool begun_ = false;
    bool reported_ = false;
    bool ended_ = false;
    error_code code_;
    txn::outcome outcome_;
};

TEST_P(TxnSweep, AStopIsNotStopped) {
    cancel_sweep<db_world>("coordinator::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<stopping>(at);
    });
}

txn::reply leave_trace(db::connection& on, const txn::call&) {
    on.run("INSERT INTO trace VALUES(1)");
    return txn::reply::done("done");
}

/// A participant with a database of its own.
class traced {
public:
    explicit traced(db_world& world)
        : database_(world.open()), stopped(database_, leave_trace, leave_trace, leave_trace) {
        world.sql("CREATE TABLE IF NOT EXISTS trace(one INTEGER)");
    }
    static txn::call some_call() {
        txn::call call;
        call.gid = {42, 1};
        call.branch = 1;
        call.attempt = 1;
        call.participant = "stock";
        return call;
    }

private:
    db::sqlite database_;

public:
    txn::sqlite_participant stopped;
};

class passing final : public sweep_case {
public:
    explicit passing(db_world& world) : world_(world), stock_(world) {}

    asio::awaitable<void> operation() override {
        auto doing = stock_.stopped.carry_out(traced::some_call());
        answer_ = co_await std::move(doing);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        EXPECT_TRUE(code || *answer_ || answer_->error() == asio::error::operation_aborted);
        const auto again = world_.run(stock_.stopped.carry_out(traced::some_call()));
        EXPECT_TRUE(again && again->payload == "done");
        EXPECT_EQ(world_.sql("SELECT count(*) FROM trace"), 1) << "it is done, and done once";
    }

private:
    db_world& world_;
    traced stock_;
    std::optional<result<txn::reply>> answer_;
};

TEST_P(TxnSweep, ACallThatWasCancelledIsDoneOnceOrNotAtAll) {
    const auto steps =
        cancel_sweep<db_world>("sqlite_participant::carry_out", GetParam(), [](auto& at) {
            return std::make_unique<passing>(at);
        });
    EXPECT_GE(steps, 2u);
}

/// A world with timers, which rests when nothing has happened for a while.
class ticking_world : public db_world {
public:
    void settle() {
        context.restart();
        while (context.run_one_for(std::chrono::milliseconds(50)) != 0) {
        }
    }
};

/// Never asked.
class no_source final : public txn::outcome_source {
    asio::awaitable<result<txn::standing>> settle(txn::gid) override {
        co_return error_code(txn::errc::call_failed);
    }
};

class some_sweeper {
public:
    explicit some_sweeper(ticking_world& world)
        : shop_(world.open()),
          stopped(world.context.get_executor(), shop_, std::make_shared<no_source>()) {}
    void check() const { EXPECT_LE(stopped.stats().looks, 1u); }

private:
    db::sqlite shop_;

public:
    txn::overdue_sweeper stopped;
};

class some_swept_participant : public traced {
public:
    explicit some_swept_participant(ticking_world& world) : traced(world) {
        stopped.sweep_overdue(std::make_shared<no_source>());
    }
    void check() const { EXPECT_LE(stopped.sweeper().looks, 1u); }
};

/// Something that looks now and then is stopped.
template <class Stopped>
class ending final : public sweep_case {
public:
    explicit ending(ticking_world& world) : subject_(world) {}

    asio::awaitable<void> operation() override {
        begun_ = true;
        auto stop = subject_.stopped.async_stop();
        co_await std::move(stop);
        ended_ = true;
    }
    void check(const co_world::outcome&) override {
        EXPECT_EQ(ended_, begun_) << "a stop is not stopped";
        if (ended_)
            subject_.check();
    }

private:
    Stopped subject_;
    bool begun_ = false;
    bool ended_ = false;
};

TEST_P(TxnSweep, TheStopOfWhateverLooksNowAndThenIsNotStopped) {
    cancel_sweep<ticking_world>("overdue_sweeper::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<ending<some_sweeper>>(at);
    });
    cancel_sweep<ticking_world>("sqlite_participant::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<ending<some_swept_participant>>(at);
    });
}

}  // namespace
}  // namespace mortise::test::txn_sweep_test
