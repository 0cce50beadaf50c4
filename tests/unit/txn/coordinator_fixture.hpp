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
        txn::coordinator_config made;
        made.log = folder_.path() / "log.db";
        made.participants.emplace("stock", stock_);
        made.participants.emplace("wallet", wallet_);
        made.retry_first = std::chrono::milliseconds(2);
        made.retry_max = std::chrono::milliseconds(20);
        made.jitter_seed = 1;
        return made;
    }

    void open() { tcc_.emplace(context_.get_executor(), config()); }
    void open(txn::coordinator_config how) {
        tcc_.emplace(context_.get_executor(), std::move(how));
    }

    static txn::transaction of_both() {
        txn::transaction made;
        made.add("stock", "two apples");
        made.add("wallet", "five euros");
        return made;
    }

    txn::outcome run(txn::transaction what) {
        auto running = tcc_->async_run(std::move(what), asio::use_future);
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

    error_code refusal(const txn::transaction& what) {
        return code_of([&] { static_cast<void>(run(what)); });
    }

    txn::outcome settled(const txn::gid& which) {
        auto waiting = tcc_->async_settle(which, asio::use_future);
        EXPECT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        return waiting.get();
    }

    txn::outcome asked(const txn::gid& which) {
        return tcc_->async_outcome(which, asio::use_future).get();
    }

    static auto refusing(txn::operation what, std::string why) {
        return [=](const txn::call& made) -> result<txn::reply> {
            return made.what == what ? txn::reply::refused(why) : txn::reply::done();
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
