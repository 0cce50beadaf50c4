// SPDX-License-Identifier: BSL-1.0
// Whole transactions over HTTP: two participants with databases of their own, and a coordinator.
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/functions.hpp"
#include "mortise/txn/http/control_server.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "mortise/txn/http/participant_server.hpp"
#include "mortise/txn/overdue_sweeper.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "support/tls_material.hpp"
#include "unit/txn_http/scripted_server.hpp"
#include "unit/txn_http/server_thread.hpp"
#include "unit/txn_http/slow_name.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::http_transaction_test {
namespace {

using std::chrono::milliseconds;
using then = scripted_server::then;

const std::string token = "correct-horse-battery";

/// What goes wrong with calls: how often of a hundred.
struct troubles {
    unsigned twice = 0;       ///< The call is carried out a second time at once.
    unsigned reply_lost = 0;  ///< It is carried out, and answered by a failure.
    unsigned not_done = 0;
};

/// Whether participants ask for a token and a certificate, over TLS.
enum class login { none, both };

/// A process that has accounts in a database: `free` money, and what is reserved.
class bank {
    template <class Work>
    auto run(Work work) {
        return accounts_.async_run(work, db::durability::lazy, asio::use_future).get();
    }

public:
    bank(const std::filesystem::path& folder, const std::string& name, troubles how, login asks)
        : asks_(asks),
          accounts_(
              thread_.context.get_executor(),
              [&] {
                  db::sqlite_config config;
                  config.path = folder / (name + ".db");
                  return config;
              }()
          ),
          how_(how) {
        run([](db::connection& on) {
            on.run("CREATE TABLE account(free INTEGER CHECK(free >= 0), reserved INTEGER)");
            on.run("INSERT INTO account VALUES(1000, 0)");
        });
        const auto doing = [this](const txn::call& call) { return carry_out(call); };
        txn::participant_server::participants served;
        served.emplace("account", txn::make_participant(doing, doing, doing));
        server_.emplace(thread_.context.get_executor(), listening(name), served);
    }
    ~bank() {
        if (sweeper_)
            sweeper_->async_stop(asio::use_future).get();
        server_->async_stop(asio::use_future).get();
        accounts_.async_stop(asio::use_future).get();
    }
    bank(const bank&) = delete;
    bank& operator=(const bank&) = delete;

    /// By a name, which has to be looked up.
    txn::http_client_config place() const {
        const auto at = "://localhost:" + std::to_string(server_->port()) + "/account";
        if (asks_ == login::none)
            return txn::http_client_config("http" + at);
        txn::http_client_config config("https" + at);
        config.ca_file = shared_tls().authority();
        config.certificate_file = shared_tls().client().certificate;
        config.key_file = shared_tls().client().key;
        config.token = token;
        return config;
    }
    txn::http_server_stats served() const { return server_->stats(); }

    void sweep(const std::string& control) {
        txn::sweeper_config how;
        how.look_every = milliseconds(5);
        how.retry_first = milliseconds(5);
        how.retry_max = milliseconds(50);
        const auto source = txn::make_outcome_source(
            thread_.context.get_executor(), txn::http_client_config(control), token
        );
        sweeper_.emplace(thread_.context.get_executor(), accounts_, source, how);
    }
    txn::sweeper_stats swept() const { return sweeper_->stats(); }

    std::int64_t sum(const char* column) {
        return run([column](db::connection& on) {
            auto row = on.query(std::string("SELECT sum(") + column + ") FROM account");
            row.step();
            return row.integer(0);
        });
    }

    /// Confirms fail from here on, or no more.
    void fail_confirms(bool on) { confirms_fail_ = on; }

private:
    txn::participant_server_config listening(const std::string& name) const {
        txn::participant_server_config config;
        if (asks_ == login::none)
            return config;
        config.listen.certificate_file = shared_tls().server().certificate;
        config.listen.key_file = shared_tls().server().key;
        config.listen.client_ca_file = shared_tls().authority();
        config.access.callers.emplace_back("the coordinator of " + name, token);
        return config;
    }

    static txn::reply work(db::connection& on, txn::operation operation, std::int64_t cents) {
        switch (operation) {
        case txn::operation::try_:
            on.run(
                "UPDATE account SET free = free - max(?1, 0), reserved = reserved + ?1"
                " WHERE free >= ?1",
                cents
            );
            return on.changes() == 1 ? txn::reply::done() : txn::reply::refused("no money");
        case txn::operation::confirm:
            on.run("UPDATE account SET reserved = reserved - ?1, free = free - min(?1, 0)", cents);
            break;
        case txn::operation::cancel:
            on.run("UPDATE account SET reserved = reserved - ?1, free = free + max(?1, 0)", cents);
            break;
        }
        return txn::reply::done();
    }

    asio::awaitable<txn::reply> once(const txn::call& call) {
        auto doing = [call](db::connection& on) {
            return txn::barrier::pass(on, call, [&] {
                return work(on, call.type, std::stoll(call.payload));
            });
        };
        auto running = accounts_.async_run(doing);
        co_return co_await std::move(running);
    }

    asio::awaitable<txn::reply> carry_out(const txn::call& call) {
        const bool fails = confirms_fail_ && call.type == txn::operation::confirm;
        if (fails || below(how_.not_done))
            throw std::runtime_error("out of order");
        if (below(how_.twice))
            static_cast<void>(co_await once(call));
        auto answer = co_await once(call);
        if (below(how_.reply_lost))
            throw std::runtime_error("lost");
        co_return answer;
    }

    bool below(unsigned percent) { return chance_() % 100 < percent; }

    const login asks_;
    server_thread thread_;
    db::sqlite accounts_;
    const troubles how_;
    std::minstd_rand chance_{7};
    std::atomic<bool> confirms_fail_{false};
    std::optional<txn::participant_server> server_;
    std::optional<txn::overdue_sweeper> sweeper_;
};

class TxnHttpTransaction : public testing::Test {
protected:
    ~TxnHttpTransaction() override {
        if (control_)
            control_->async_stop(asio::use_future).get();
        tcc_->async_stop(asio::use_future).get();
        tcc_.reset();
        thread_.join();
    }

    void begin(troubles how, txn::coordinator_config with = {}, login asks = login::none) {
        const auto executor = thread_.context.get_executor();
        for (const char* name : {"payer", "payee"}) {
            banks_.push_back(std::make_unique<bank>(folder_.path(), name, how, asks));
            with.participants.emplace(
                name, std::make_shared<txn::http_participant>(executor, banks_.back()->place())
            );
        }
        with.log = folder_.path() / "log.db";
        with.jitter_seed = 1;
        tcc_.emplace(executor, std::move(with));
        txn::control_server_config control;
        control.token = token;
        control_.emplace(executor, control, *tcc_);
    }

    static txn::transaction transfer(int cents) {
        txn::transaction transaction;
        transaction.add("payer", std::to_string(cents));
        transaction.add("payee", std::to_string(-cents));
        return transaction;
    }

    txn::outcome settled(const txn::gid& gid) {
        auto waiting = tcc_->async_settle(gid, asio::use_future);
        EXPECT_EQ(waiting.wait_for(std::chrono::seconds(40)), std::future_status::ready);
        return waiting.get();
    }

    const scratch_folder folder_{scratch_folder::place::memory};
    server_thread thread_;
    std::vector<std::unique_ptr<bank>> banks_;
    std::optional<txn::coordinator> tcc_;
    std::optional<txn::control_server> control_;
};

TEST_F(TxnHttpTransaction, SumsAreKeptWhateverIsRepeatedOrLost) {
    txn::coordinator_config how;
    how.retry_first = milliseconds(1);
    how.retry_max = milliseconds(10);
    how.try_attempts_max = 20;
    begin({.twice = 20, .reply_lost = 20, .not_done = 10}, how);
    std::vector<std::future<txn::outcome>> running;
    for (int i = 0; i < 60; ++i)
        running.push_back(tcc_->async_run(transfer(10 + i), asio::use_future));
    std::int64_t moved = 0;
    int refused = 0;
    for (int i = 0; i < 60; ++i) {
        const auto outcome = running[static_cast<std::size_t>(i)].get();
        ASSERT_FALSE(outcome.unknown());
        moved += outcome.confirmed() ? 10 + i : 0;
        refused += outcome.cancelled() ? 1 : 0;
        EXPECT_EQ(settled(outcome.gid()).confirmed(), outcome.confirmed());
    }
    EXPECT_GT(moved, 0);
    EXPECT_GT(refused, 0) << "there is not money for all of them";
    EXPECT_EQ(banks_[0]->sum("free"), 1'000 - moved);
    EXPECT_EQ(banks_[1]->sum("free"), 1'000 + moved);
    EXPECT_EQ(banks_[0]->sum("reserved"), 0);
    EXPECT_EQ(banks_[1]->sum("reserved"), 0);
    EXPECT_EQ(tcc_->stats().stuck, 0u);
}

TEST_F(TxnHttpTransaction, RunBehindTokensAndCertificates) {
    begin({}, {}, login::both);
    std::vector<std::future<txn::outcome>> running;
    for (int i = 0; i < 20; ++i)
        running.push_back(tcc_->async_run(transfer(10), asio::use_future));
    for (auto& each : running) {
        const auto outcome = each.get();
        ASSERT_TRUE(outcome.confirmed()) << outcome.text();
        EXPECT_TRUE(settled(outcome.gid()).confirmed());
    }
    EXPECT_EQ(banks_[0]->sum("free"), 800);
    EXPECT_EQ(banks_[1]->sum("free"), 1'200);
    for (const auto& each : banks_) {
        EXPECT_GE(each->served().requests, 40u);
        EXPECT_LT(each->served().connections, each->served().requests) << "they are used again";
        EXPECT_EQ(each->served().denied + each->served().handshakes_failed, 0u);
    }
}

TEST_F(TxnHttpTransaction, AParticipantThatAnswersForEverIsGivenUpAndTheOtherCancelled) {
    scripted_server slow({{{"HTTP/1.1 200 OK\r\nmortise-call: $CALL\r\nmor", then::hang}}});
    txn::coordinator_config how;
    how.participants.emplace(
        "slow",
        std::make_shared<txn::http_participant>(
            thread_.context.get_executor(), txn::http_client_config(slow.url())
        )
    );
    how.call_max = milliseconds(100);
    how.try_attempts_max = 2;
    how.retry_first = how.retry_max = milliseconds(500);
    begin({}, how);
    auto wanted = transfer(100);
    wanted.add("slow", "");
    const auto outcome = tcc_->async_run(wanted, asio::use_future).get();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.why(), txn::errc::no_answer);
    EXPECT_TRUE(eventually([&] { return banks_[0]->sum("free") == 1'000; }));
    EXPECT_EQ(banks_[0]->sum("reserved"), 0);
    EXPECT_TRUE(eventually([&] { return slow.ended() >= 2; })) << "its connections are not closed";
}

TEST_F(TxnHttpTransaction, WhatAParticipantThrewStandsInTheViewOfItsCall) {
    txn::coordinator_config how;
    how.retry_first = how.retry_max = milliseconds(5);
    begin({}, how);
    banks_[1]->fail_confirms(true);
    const auto outcome = tcc_->async_run(transfer(100), asio::use_future).get();
    ASSERT_TRUE(outcome.confirmed());
    const bool shown = eventually([&] {
        const auto view = tcc_->async_show(outcome.gid(), asio::use_future).get();
        for (const auto& each : view ? view->branches[1].newest : std::vector<txn::call_view>()) {
            if (each.result == txn::call_view::verdict::failed &&
                each.text.find("out of order") != std::string::npos)
                return true;
        }
        return false;
    });
    EXPECT_TRUE(shown);
    banks_[1]->fail_confirms(false);
    EXPECT_TRUE(settled(outcome.gid()).confirmed());
}

TEST_F(TxnHttpTransaction, WhatATryThrewStandsInItsOutcome) {
    txn::coordinator_config how;
    how.try_attempts_max = 1;
    begin({.not_done = 100}, how);
    const auto outcome = tcc_->async_run(transfer(100), asio::use_future).get();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_NE(outcome.text().find("out of order"), std::string::npos) << outcome.text();
}

TEST_F(TxnHttpTransaction, ASlowNameOfOneDelaysNoTransactionOfAnother) {
    slow_name name("slow.example");
    txn::coordinator_config how;
    how.participants.emplace(
        "slow",
        std::make_shared<txn::http_participant>(
            thread_.context.get_executor(), txn::http_client_config("http://slow.example:1/account")
        )
    );
    how.deadline = how.call_max = std::chrono::seconds(30);
    begin({}, how);
    txn::transaction to_slow;
    to_slow.add("slow", "");
    auto waiting = tcc_->async_run(to_slow, asio::use_future);
    ASSERT_TRUE(eventually([&] { return name.waiting() == 1; }));
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(tcc_->async_run(transfer(1), asio::use_future).get().confirmed());
    EXPECT_EQ(name.waiting(), 1u) << "it has not been found meanwhile";
    name.deny();
    EXPECT_TRUE(waiting.get().cancelled());
}

TEST_F(TxnHttpTransaction, AnOverdueReservationHasItsCoordinatorHurry) {
    txn::coordinator_config how;
    how.deadline = milliseconds(300);
    how.retry_first = how.retry_max = std::chrono::hours(1);
    begin({}, how);
    banks_[1]->fail_confirms(true);
    const auto outcome = tcc_->async_run(transfer(100), asio::use_future).get();
    ASSERT_TRUE(outcome.confirmed());
    banks_[1]->sweep(control_->url());
    ASSERT_TRUE(eventually([&] { return banks_[1]->swept().asked >= 1; }));
    EXPECT_EQ(banks_[1]->sum("reserved"), -100) << "nobody gives it back on a guess";
    banks_[1]->fail_confirms(false);
    EXPECT_TRUE(eventually([&] { return banks_[1]->sum("reserved") == 0; }));
    EXPECT_EQ(banks_[1]->sum("free"), 1'100);
    EXPECT_TRUE(settled(outcome.gid()).confirmed());
}

}  // namespace
}  // namespace mortise::test::http_transaction_test
