// SPDX-License-Identifier: BSL-1.0
// Names of hosts that take their time to be looked up.
#include "mortise/txn/error.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "support/eventually.hpp"
#include "unit/db/db_world.hpp"
#include "unit/txn_http/scripted_server.hpp"
#include "unit/txn_http/slow_name.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>

namespace mortise::test::names_test {
namespace {

using then = scripted_server::then;

txn::call some_call() {
    txn::call call;
    call.gid = {42, 1};
    call.branch = 1;
    call.attempt = 1;
    call.participant = "stock";
    return call;
}

class TxnHttpNames : public testing::Test {
protected:
    txn::http_client_config place(const std::string& host) const {
        return txn::http_client_config(
            "http://" + host + ':' + std::to_string(server_.port()) + "/stock"
        );
    }
    txn::http_participant at(const std::string& host) {
        return {world_->context.get_executor(), place(host)};
    }
    error_code call(txn::http_participant& there) {
        const auto got = world_->run(there.carry_out(some_call()));
        return got ? error_code() : got.error();
    }
    /// A call that nobody waits for.
    void begin(txn::http_participant& there) {
        asio::co_spawn(
            world_->context,
            there.carry_out(some_call()),
            asio::bind_cancellation_slot(
                signals_.emplace_back().slot(),
                [this](const std::exception_ptr& thrown, const result<txn::reply>& got) {
                    ++ended_;
                    done_ += !thrown && got ? 1 : 0;
                }
            )
        );
    }
    void step_until(const std::function<bool()>& so) {
        const auto end = clock::now() + std::chrono::seconds(20);
        world_->step_while([&] { return !so() && clock::now() < end; });
    }

    /// Each connection is good for one call.
    scripted_server server_{{{{scripted_server::done(), then::close}}}};
    std::list<asio::cancellation_signal> signals_;  // of the calls, in their order
    std::optional<db_world> world_{std::in_place};
    int ended_ = 0;
    int done_ = 0;
};

TEST_F(TxnHttpNames, ASlowOneHoldsUpNobodyElse) {
    slow_name name("slow.example");
    auto slow = at("slow.example");
    auto stock = at("localhost");
    begin(slow);
    step_until([&] { return name.waiting() == 1; });
    ASSERT_EQ(name.waiting(), 1u);
    EXPECT_EQ(call(stock), error_code()) << "its name is looked up at once, for the first time";
    EXPECT_EQ(call(stock), error_code());
    EXPECT_EQ(ended_, 0);
    name.answer();
    step_until([&] { return ended_ == 1; });
    EXPECT_EQ(done_, 1);
}

TEST_F(TxnHttpNames, ThereIsOneLookUpForAllWhoWait) {
    slow_name name("slow.example");
    auto slow = at("slow.example");
    for (int i = 0; i < 5; ++i)
        begin(slow);
    step_until([&] { return name.waiting() == 1; });
    signals_.front().emit(asio::cancellation_type::terminal);
    step_until([&] { return ended_ == 1; });
    EXPECT_EQ(done_, 0);
    begin(slow);
    world_->context.poll();
    EXPECT_EQ(name.asked(), 1u);
    name.answer();
    step_until([&] { return ended_ == 6; });
    EXPECT_EQ(done_, 5);
    EXPECT_EQ(name.asked(), 1u);
}

TEST_F(TxnHttpNames, TheLastAddressesAreKept) {
    slow_name name("slow.example");
    name.answer();
    auto slow = at("slow.example");
    ASSERT_EQ(call(slow), error_code());
    name.fall_silent();
    EXPECT_EQ(call(slow), error_code());
    EXPECT_EQ(call(slow), error_code());
    EXPECT_EQ(server_.connections(), 3u);
    step_until([&] { return name.waiting() == 1; });
    EXPECT_EQ(name.asked(), 2u) << "the second one is still under way";
    name.deny();
    step_until([&] { return name.waiting() == 0; });
    EXPECT_EQ(call(slow), error_code()) << "where it was before is better than nothing";
}

TEST_F(TxnHttpNames, AnAddressIsNotLookedUp) {
    auto stock = at("127.0.0.1");
    const auto before = names_looked_up();
    EXPECT_EQ(call(stock), error_code());
    EXPECT_EQ(names_looked_up(), before);
}

TEST_F(TxnHttpNames, AHostThatDoesNotExistIsAnErrorOfTheCall) {
    slow_name name("slow.example");
    name.deny();
    auto slow = at("slow.example");
    EXPECT_EQ(call(slow), asio::error::host_not_found);
    name.answer();
    EXPECT_EQ(call(slow), error_code()) << "it is looked up again";
}

TEST_F(TxnHttpNames, AContextDoesNotWaitForOneWhenItEnds) {
    slow_name name("slow.example");
    std::optional<txn::http_participant> slow(
        std::in_place, world_->context.get_executor(), place("slow.example")
    );
    begin(*slow);
    step_until([&] { return name.waiting() == 1; });
    world_.reset();
    EXPECT_EQ(name.waiting(), 1u) << "it still takes its time";
    slow.reset();
    name.answer();
    EXPECT_TRUE(eventually([&] { return name.waiting() == 0; }));
}

}  // namespace
}  // namespace mortise::test::names_test
