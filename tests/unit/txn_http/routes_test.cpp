// SPDX-License-Identifier: BSL-1.0
// Participants in a server of the user's own: a request in, a response out.
#include "mortise/txn/error.hpp"
#include "mortise/txn/functions.hpp"
#include "mortise/txn/http/participant_routes.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"
#include "unit/db/db_world.hpp"
#include "unit/txn/scripted_participant.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test::routes_test {
namespace {

const std::string secret = "correct-horse-battery";

txn::http_request request(const std::string& target, const std::string& operation = "try") {
    txn::http_request request;
    request.method = "POST";
    request.target = target;
    request.headers.add("Authorization", "Bearer " + secret);
    request.headers.add("Mortise-Call", operation + ".000000000000002a-1.1.1.1");
    request.headers.add("mortise-gid", "000000000000002a-1");
    request.headers.add("mortise-branch", "1");
    request.headers.add("mortise-attempt", "1");
    request.headers.add("mortise-epoch", "1");
    request.headers.add("mortise-term", "7");
    request.headers.add("mortise-participant", "stock");
    request.headers.add("mortise-time-left-ms", "1000");
    request.headers.add("mortise-ended-below", "1");
    request.body = "two apples";
    return request;
}

txn::participant_routes_config config() {
    txn::participant_routes_config config;
    config.prefix = "/internal/txn";
    config.access.callers.emplace_back("shop", secret);
    return config;
}

class TxnHttpRoutes : public testing::Test {
protected:
    txn::participant_routes make_routes(txn::participant_routes_config how = config()) {
        txn::participant_map served;
        served.emplace("stock", stock_);
        return {std::move(served), std::move(how)};
    }
    txn::http_response ask(const txn::participant_routes& routes, txn::http_request asked) {
        return world_.run(routes.answer(std::move(asked)));
    }
    std::string refusal(txn::participant_routes_config how) {
        try {
            make_routes(std::move(how));
        } catch (const error& why) {
            EXPECT_EQ(why.code(), errc::bad_config);
            return why.what();
        }
        return {};
    }

    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    db_world world_;
};

TEST_F(TxnHttpRoutes, AParticipantIsCalledBelowThePrefix) {
    const auto routes = make_routes();
    const auto got = ask(routes, request("/internal/txn/stock/try"));
    EXPECT_EQ(got.status, 200u) << got.body;
    EXPECT_EQ(got.headers.one("mortise-verdict"), "done");
    EXPECT_EQ(got.headers.one("mortise-call"), "try.000000000000002a-1.1.1.1");
    ASSERT_EQ(stock_->calls().size(), 1u);
    EXPECT_EQ(stock_->calls()[0].payload, "two apples");
    for (const char* other :
         {"/stock/try", "/internal/txnx/stock/try", "/internal/txn/try", "/internal/txn", "/"})
        EXPECT_EQ(ask(routes, request(other)).status, 404u) << other;
    EXPECT_EQ(stock_->calls().size(), 1u);
}

TEST_F(TxnHttpRoutes, SayWhichTargetsAreTheirs) {
    const auto routes = make_routes();
    EXPECT_TRUE(routes.owns("/internal/txn/stock/try"));
    EXPECT_TRUE(routes.owns("/internal/txn/other"));
    for (const char* other : {"", "/", "/internal/txn", "/internal/txns/stock/try", "/index.html"})
        EXPECT_FALSE(routes.owns(other)) << other;
    auto how = config();
    how.prefix.clear();
    EXPECT_TRUE(make_routes(how).owns("/stock/try"));
}

TEST_F(TxnHttpRoutes, WithoutATokenNoParticipantIsCalled) {
    const auto routes = make_routes();
    auto asked = request("/internal/txn/stock/try");
    asked.headers = {};
    const auto got = ask(routes, asked);
    EXPECT_EQ(got.status, 401u);
    EXPECT_EQ(got.headers.one("www-authenticate"), "Bearer");
    EXPECT_EQ(routes.denied(), 1u);
    EXPECT_TRUE(stock_->calls().empty());
}

TEST_F(TxnHttpRoutes, WhatAParticipantThrowsIsToldToPeople) {
    stock_->answer_by([](const txn::call&) -> result<txn::reply> {
        throw std::runtime_error("the shelf is locked");
    });
    const auto got = ask(make_routes(), request("/internal/txn/stock/try"));
    EXPECT_EQ(got.status, 500u);
    EXPECT_EQ(got.body, "the shelf is locked");
    EXPECT_FALSE(got.headers.has("mortise-verdict"));
}

TEST_F(TxnHttpRoutes, WhatACoroutineThrowsIsToldToPeopleOrIsAnAnswer) {
    const auto throwing = [](error_code code) {
        return [code](const txn::call&) -> asio::awaitable<txn::reply> {
            throw boost::system::system_error(code, "shelf 7");
            co_return txn::reply::done();
        };
    };
    const auto closed = make_error_code(boost::system::errc::connection_refused);
    txn::participant_map served;
    served.emplace(
        "stock",
        txn::make_participant(
            throwing(closed), throwing(txn::errc::conflict), throwing(txn::errc::conflict)
        )
    );
    const txn::participant_routes routes(std::move(served), config());
    const auto failed = ask(routes, request("/internal/txn/stock/try"));
    EXPECT_EQ(failed.status, 500u);
    EXPECT_EQ(failed.body, "shelf 7: " + closed.what());
    const auto refused = ask(routes, request("/internal/txn/stock/confirm", "confirm"));
    EXPECT_EQ(refused.status, 409u);
    EXPECT_EQ(refused.headers.one("mortise-error"), "conflict");
}

TEST_F(TxnHttpRoutes, ThatNobodyHasSaidWhoMayCallAreRefused) {
    auto how = config();
    how.access.callers.clear();
    EXPECT_NE(refusal(how).find("allow_anyone"), std::string::npos);
    how.access.allow_anyone = true;
    EXPECT_EQ(refusal(how), "");
    for (const char* prefix : {"/", "internal", "/internal/"}) {
        how.prefix = prefix;
        EXPECT_NE(refusal(how).find("prefix"), std::string::npos) << prefix;
    }
}

/// An answer that waits once for its participant.
class answering final : public sweep_case {
public:
    explicit answering(db_world&) : routes_(make_routes(stock_)) {}

    asio::awaitable<void> operation() override {
        auto doing = routes_.answer(request("/internal/txn/stock/try"));
        got_ = co_await std::move(doing);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        EXPECT_EQ(got_.has_value(), !code);
    }

private:
    static txn::participant_routes make_routes(const std::shared_ptr<scripted_participant>& stock) {
        txn::participant_map served;
        served.emplace("stock", stock);
        return {std::move(served), config()};
    }

    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    txn::participant_routes routes_;
    std::optional<txn::http_response> got_;
};

class TxnHttpRoutesSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(
    Types, TxnHttpRoutesSweep, testing::ValuesIn(cancellation_types), param_name()
);

TEST_P(TxnHttpRoutesSweep, ACancelledAnswerIsNone) {
    cancel_sweep<db_world>("participant_routes::answer", GetParam(), [](auto& world) {
        return std::make_unique<answering>(world);
    });
}

}  // namespace
}  // namespace mortise::test::routes_test
