// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_COORDINATOR_FIXTURE_HPP
#define MORTISE_TESTS_UNIT_TXN_COORDINATOR_FIXTURE_HPP

#include "mortise/txn/coordinator.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "unit/txn/scripted_participant.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace mortise::test {

/// A coordinator with two participants, on a thread of its own.
class coordinator_fixture : public testing::Test {
protected:
    ~coordinator_fixture() override {
        tcc_.reset();
        work_.reset();
        thread_.join();
    }

    txn::coordinator_config config() const {
        txn::coordinator_config config;
        config.log = folder_.path() / "log.db";
        config.participants.emplace("stock", stock_);
        config.participants.emplace("wallet", wallet_);
        config.retry_first = std::chrono::milliseconds(2);
        config.retry_max = std::chrono::milliseconds(20);
        config.jitter_seed = 1;
        return config;
    }

    void open() { tcc_.emplace(context_.get_executor(), config()); }
    void open(txn::coordinator_config how) {
        tcc_.emplace(context_.get_executor(), std::move(how));
    }

    static txn::transaction of_both() {
        txn::transaction transaction;
        transaction.add("stock", "two apples");
        transaction.add("wallet", "five euros");
        return transaction;
    }

    txn::outcome run(txn::transaction transaction) {
        auto running = tcc_->async_run(std::move(transaction), asio::use_future);
        EXPECT_EQ(running.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return running.get();
    }

    /// Which error the doing of that throws.
    template <class Doing>
    static error_code code_of(Doing doing) {
        try {
            doing();
        } catch (const boost::system::system_error& failed) {
            return failed.code();
        }
        return {};
    }

    error_code refusal(const txn::transaction& transaction) {
        return code_of([&] { static_cast<void>(run(transaction)); });
    }

    txn::outcome settled(const txn::gid& gid) {
        auto waiting = tcc_->async_settle(gid, asio::use_future);
        EXPECT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return waiting.get();
    }

    txn::outcome asked(const txn::gid& gid) {
        return tcc_->async_outcome(gid, asio::use_future).get();
    }

    static auto refusing(txn::operation operation, std::string why) {
        return [=](const txn::call& call) -> result<txn::reply> {
            return call.type == operation ? txn::reply::refused(why) : txn::reply::done();
        };
    }

    const scratch_folder folder_;
    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    std::shared_ptr<scripted_participant> wallet_ = std::make_shared<scripted_participant>();
    asio::io_context context_{1};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
        context_.get_executor()};
    std::optional<txn::coordinator> tcc_;
    std::thread thread_{[this] { context_.run(); }};
};

}  // namespace mortise::test

#endif
