// SPDX-License-Identifier: BSL-1.0
// A participant whose state is in an SQLite database: its calls, what it forgets, and whom it asks
// about reservations that are overdue.
#include "mortise/coro/sleep.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/sqlite_participant.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::sqlite_participant_test {
namespace {

using namespace std::chrono_literals;
using txn::call;
using txn::operation;
using txn::reply;

reply reserve(db::connection& on, const call& call) {
    if (call.payload == "throw")
        throw std::runtime_error("the shelf is on fire");
    on.run("UPDATE shelf SET free = free - 1, reserved = reserved + 1 WHERE free > 0");
    return on.changes() == 1 ? reply::done("one") : reply::refused("nothing left");
}
reply use(db::connection& on, const call&) {
    on.run("UPDATE shelf SET reserved = reserved - 1");
    return reply::done();
}
reply put_back(db::connection& on, const call&) {
    on.run("UPDATE shelf SET reserved = reserved - 1, free = free + 1");
    return reply::done();
}

void make_shelf(db::connection& on) {
    on.run("CREATE TABLE shelf(free INTEGER, reserved INTEGER)");
    on.run("INSERT INTO shelf VALUES(3, 0)");
}

call call_of(operation operation, std::uint64_t number) {
    call call;
    call.type = operation;
    call.gid = {42, number};
    call.branch = 1;
    call.attempt = 1;
    call.epoch = 1;
    call.term = 7;
    call.participant = "shelf";
    call.time_left = 1h;
    return call;
}

db::sqlite_config at(const scratch_folder& folder) {
    db::sqlite_config config;
    config.path = folder.path() / "shelf.db";
    return config;
}

/// Cannot be asked.
class no_source final : public txn::outcome_source {
    asio::awaitable<result<txn::standing>> settle(txn::gid) override {
        co_return error_code(txn::errc::call_failed);
    }
};

class TxnSqliteParticipant : public coordinator_fixture {
protected:
    TxnSqliteParticipant() {
        shop_.async_run(&make_shelf, db::durability::lazy, asio::use_future).get();
    }
    ~TxnSqliteParticipant() override {
        tcc_.reset();
        shelf_->async_stop(asio::use_future).get();
        shop_.async_stop(asio::use_future).get();
    }

    txn::coordinator_config with_shelf() const {
        auto settings = config();
        settings.participants["stock"] = shelf_;
        return settings;
    }
    result<reply> carry_out(const call& call) {
        return asio::co_spawn(context_, shelf_->carry_out(call), asio::use_future).get();
    }
    std::string ask(const char* question) {
        auto work = [question](db::connection& on) {
            auto row = on.query(question);
            row.step();
            return row.text(0);
        };
        return shop_.async_run(work, db::durability::lazy, asio::use_future).get();
    }
    std::string shelf() { return ask("SELECT free || '/' || reserved FROM shelf"); }

    db::sqlite shop_{context_.get_executor(), at(folder_)};
    std::shared_ptr<txn::sqlite_participant> shelf_ =
        std::make_shared<txn::sqlite_participant>(shop_, reserve, use, put_back);
};

TEST_F(TxnSqliteParticipant, TakesPartInTransactions) {
    open(with_shelf());
    const auto first = run(of_both());
    EXPECT_TRUE(first.confirmed());
    EXPECT_TRUE(settled(first.gid()).confirmed());
    EXPECT_EQ(shelf(), "2/0");
    wallet_->answer_by(refusing(operation::try_, "no money"));
    const auto second = run(of_both());
    EXPECT_TRUE(second.cancelled());
    EXPECT_TRUE(settled(second.gid()).cancelled());
    EXPECT_EQ(shelf(), "2/0");
}

TEST_F(TxnSqliteParticipant, DoesEachCallOnce) {
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(carry_out(call_of(operation::try_, 1))->payload, "one");
    EXPECT_EQ(shelf(), "2/1");
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(carry_out(call_of(operation::cancel, 1)));
    EXPECT_EQ(shelf(), "3/0");
    EXPECT_EQ(carry_out(call_of(operation::try_, 1)).error(), txn::errc::late_try);
    EXPECT_EQ(carry_out(call_of(operation::confirm, 1)).error(), txn::errc::conflict);
    EXPECT_EQ(carry_out(call_of(operation::confirm, 2)).error(), txn::errc::unknown_branch);
    EXPECT_EQ(shelf(), "3/0");
}

TEST_F(TxnSqliteParticipant, WhatItsWorkThrowsIsPassedOnWithItsText) {
    auto how = with_shelf();
    how.try_attempts_max = 1;
    open(how);
    txn::transaction transaction;
    transaction.add("stock", "throw");
    const auto outcome = run(std::move(transaction));
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::no_answer);
    EXPECT_EQ(outcome.text(), "the shelf is on fire");
    EXPECT_TRUE(settled(outcome.gid()).cancelled());
    EXPECT_EQ(shelf(), "3/0");
}

TEST_F(TxnSqliteParticipant, ForgetsByItselfWhatIsOver) {
    auto how = with_shelf();
    how.retention = 0ms;
    open(how);
    shop_
        .async_run(
            [](db::connection& on) { on.run("UPDATE shelf SET free = 10000"); },
            db::durability::lazy,
            asio::use_future
        )
        .get();
    txn::transaction transaction;
    transaction.add("stock", "");
    int begun = 0;
    const auto forgotten = [&] {
        return begun - std::stoi(ask("SELECT count(*) FROM mortise_txn_branch"));
    };
    while (begun < 9'000 && (begun == 0 || forgotten() < 500)) {
        std::vector<std::future<txn::outcome>> running;
        for (int i = 0; i < 200; ++i)
            running.push_back(tcc_->async_run(transaction, asio::use_future));
        for (auto& each : running)
            EXPECT_TRUE(each.get().confirmed());
        begun += 200;
    }
    EXPECT_GE(forgotten(), 500) << "of " << begun;
}

TEST_F(TxnSqliteParticipant, WantsWorkForEachKindOfCall) {
    const auto create = [&](txn::call_work one, txn::call_work other) {
        return code_of([&] { txn::sqlite_participant(shop_, reserve, one, other); });
    };
    EXPECT_EQ(create(use, {}), mortise::errc::bad_config);
    EXPECT_EQ(create({}, put_back), mortise::errc::bad_config);
    EXPECT_FALSE(create(use, put_back));
    EXPECT_EQ(
        code_of([&] {
            txn::sqlite_participant(std::shared_ptr<db::sqlite>(), reserve, use, put_back);
        }),
        mortise::errc::bad_config
    );
}

TEST_F(TxnSqliteParticipant, KeepsASessionThatIsShared) {
    scratch_folder folder;
    auto session = std::make_shared<db::sqlite>(context_.get_executor(), at(folder));
    session->async_run(&make_shelf, db::durability::lazy, asio::use_future).get();
    auto shelf = std::make_shared<txn::sqlite_participant>(session, reserve, use, put_back);
    const std::weak_ptr<db::sqlite> kept = session;
    session.reset();
    const auto done =
        asio::co_spawn(context_, shelf->carry_out(call_of(operation::try_, 1)), asio::use_future)
            .get();
    EXPECT_TRUE(done);
    txn::sweeper_config often;
    often.look_every = 1ms;
    shelf->sweep_overdue(std::make_shared<no_source>(), often);
    EXPECT_TRUE(eventually([&] { return shelf->sweeper().looks > 3; }));
    shelf.reset();
    EXPECT_TRUE(eventually([&] { return kept.expired(); }));
}

// A confirm waits for its next attempt: in an hour, unless somebody asks.
TEST_F(TxnSqliteParticipant, HasACoordinatorOfItsProcessHurry) {
    std::atomic<bool> later = true;
    std::atomic<int> put_off = 0;
    shelf_ = std::make_shared<txn::sqlite_participant>(
        shop_,
        reserve,
        [&](db::connection& on, const call& call) {
            if (!later)
                return use(on, call);
            ++put_off;
            return reply::again(1h);
        },
        put_back
    );
    auto how = with_shelf();
    how.deadline = 500ms;
    open(how);
    txn::transaction transaction;
    transaction.add("stock", "");
    auto outcome = run(transaction);
    while (!outcome.confirmed())  // a busy machine
        outcome = run(transaction);
    ASSERT_TRUE(eventually([&] { return put_off == 1; }));
    later = false;
    txn::sweeper_config often;
    often.look_every = 2ms;
    shelf_->sweep_overdue(txn::make_outcome_source(*tcc_), often);
    EXPECT_TRUE(eventually([&] { return tcc_->stats().open == 0; })) << "long before the hour";
    EXPECT_GE(shelf_->sweeper().asked, 1u);
    EXPECT_EQ(
        code_of([&] { shelf_->sweep_overdue(txn::make_outcome_source(*tcc_)); }),
        mortise::errc::bad_config
    ) << "once is enough";
    shelf_->async_stop(asio::use_future).get();
}

/// Answers that a transaction is open still, and notes when it was asked.
class patient_source final : public txn::outcome_source {
public:
    explicit patient_source(sim::world& in) : world_(in) {}

    asio::awaitable<result<txn::standing>> settle(txn::gid gid) override {
        asked.emplace_back(gid.number, world_.now());
        if (away)
            co_return error_code(txn::errc::call_failed);
        co_return txn::standing::open;
    }

    std::vector<std::pair<std::uint64_t, clock::time_point>> asked;
    bool away = false;

private:
    sim::world& world_;
};

/// A process with a shelf, in simulated time.
class shelf_process {
public:
    shelf_process(sim::world& in, const scratch_folder& folder)
        : source(std::make_shared<patient_source>(in)), folder_(folder) {}

    asio::awaitable<void> operator()(sim::process& self) {
        db::sqlite shop(self.get_executor(), at(folder_));
        co_await shop.async_run(&make_shelf);
        txn::sqlite_participant shelf(shop, reserve, use, put_back);
        auto overdue = call_of(operation::try_, 1);
        overdue.time_left = 0ms;
        auto trying = shelf.carry_out(overdue);
        const auto tried = co_await std::move(trying);
        EXPECT_TRUE(tried);
        txn::sweeper_config how;
        how.time = self.time();
        how.jitter_seed = 1;
        shelf.sweep_overdue(source, how);
        const auto wait = [&](clock::duration span) { return coro::sleep_for(*self.time(), span); };
        co_await wait(1h);
        asked_in_an_hour = source->asked.size();
        source->away = true;
        co_await wait(1h);
        unreachable = shelf.sweeper().unreachable;
        auto ending = shelf.carry_out(call_of(operation::confirm, 1));
        const auto ended = co_await std::move(ending);
        EXPECT_TRUE(ended);
        co_await wait(10s);
        asked_until_its_end = source->asked.size();
        co_await wait(1h);
        looks = shelf.sweeper().looks;
        co_await shelf.async_stop();
        co_await wait(1h);
        looks_after_stop = shelf.sweeper().looks;
        co_await shop.async_stop();
        ended_well = true;
    }

    const std::shared_ptr<patient_source> source;
    std::size_t asked_in_an_hour = 0;
    std::size_t asked_until_its_end = 0;
    std::uint64_t unreachable = 0;
    std::uint64_t looks = 0;
    std::uint64_t looks_after_stop = 0;
    bool ended_well = false;

private:
    const scratch_folder& folder_;
};

TEST(TxnSqliteParticipantInTime, AsksAgainAndAgainMoreAndMoreSeldomAndOnlyWhatIsOverdue) {
    const scratch_folder folder(scratch_folder::place::memory);
    sim::world world(1);
    shelf_process shop(world, folder);
    sim::process& process = world.add_process("shop");
    process.run([&shop](sim::process& self) { return shop(self); });
    ASSERT_TRUE(world.run_until([&] { return shop.ended_well; }, 10h));
    EXPECT_GE(shop.asked_in_an_hour, 60u) << "at least once a minute";
    EXPECT_LE(shop.asked_in_an_hour, 200u) << "after pauses up to a minute";
    for (const auto& [number, when] : shop.source->asked)
        EXPECT_EQ(number, 1u);
    EXPECT_GE(shop.unreachable, 30u);
    EXPECT_EQ(shop.source->asked.size(), shop.asked_until_its_end) << "it was confirmed";
    EXPECT_GE(shop.looks, 2u * 3'600 / 5) << "it looks on, more seldom while nobody can be asked";
    EXPECT_EQ(shop.looks_after_stop, shop.looks);
    world.end();
}

}  // namespace
}  // namespace mortise::test::sqlite_participant_test
