// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/virtual_time.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/functions.hpp"
#include "mortise/txn/http/participant_server.hpp"
#include "support/eventually.hpp"
#include "unit/txn/scripted_participant.hpp"
#include "unit/txn_http/raw_client.hpp"
#include "unit/txn_http/server_thread.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test::participant_server_test {
namespace {

using std::chrono::milliseconds;

std::string request(
    const std::string& path, const std::string& body = "two apples", const std::string& more = {}
) {
    return "POST " + path +
           " HTTP/1.1\r\nhost: here\r\nmortise-call: try.000000000000002a-1.1.1.1\r\n"
           "mortise-gid: 000000000000002a-1\r\nmortise-branch: 1\r\nmortise-attempt: 1\r\n"
           "mortise-epoch: 1\r\nmortise-term: 7\r\nmortise-participant: stock\r\n"
           "mortise-time-left-ms: 1000\r\nmortise-ended-below: 1\r\n" +
           more + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class TxnHttpServer : public testing::Test {
protected:
    ~TxnHttpServer() override {
        server_.reset();
        thread_.join();
    }

    void open(txn::http_server_config how = txn::http_server_config()) {
        txn::participant_server::participants served;
        served.emplace("stock", stock_);
        served.emplace("a b/c", other_);
        server_.emplace(thread_.context.get_executor(), std::move(how), std::move(served));
    }

    std::uint16_t port() const { return server_->port(); }
    /// By a connection of its own.
    std::string ask(const std::string& bytes) const { return raw_client(port()).ask(bytes); }

    static std::string status(const std::string& answer) {
        return answer.size() < 12 ? answer : answer.substr(9, 3);
    }

    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    std::shared_ptr<scripted_participant> other_ = std::make_shared<scripted_participant>();
    server_thread thread_;
    std::optional<txn::participant_server> server_;
};

TEST_F(TxnHttpServer, CallsTheParticipantOfThePath) {
    open();
    raw_client client(port());
    const auto answer = client.ask(request("/stock/try"));
    EXPECT_EQ(status(answer), "200") << answer;
    EXPECT_NE(answer.find("mortise-verdict: done\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("mortise-call: try.000000000000002a-1.1.1.1\r\n"), std::string::npos);
    ASSERT_EQ(stock_->calls().size(), 1u);
    EXPECT_EQ(stock_->calls()[0].payload, "two apples");
    EXPECT_EQ(status(client.ask(request("/a%20b%2Fc/try"))), "200") << "on the same connection";
    EXPECT_EQ(other_->operations(), "try");
}

TEST_F(TxnHttpServer, ABadRequestIsToldWhatIsWrongWithIt) {
    open();
    struct wrong {
        std::string bytes;
        const char* status;
        const char* says;
    };
    const wrong all[] = {
        {"hello\r\n\r\n", "400", "no HTTP"},
        {"POST /stock/try HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
         "400",
         "no HTTP"},
        {"GET /stock/try HTTP/1.1\r\n\r\n", "405", "POST"},
        {request("/stock/other"), "404", "/NAME/try"},
        {request("/other/try"), "404", "/NAME/try"},
        {request("/stock/try?a"), "404", "/NAME/try"},
        {request("stock/try"), "404", "/NAME/try"},
        {request("/%zz/try"), "404", "/NAME/try"},
        {request("/"), "404", "/NAME/try"},
        {"POST /stock/try HTTP/1.1\r\ncontent-length: 0\r\n\r\n", "400", "mortise-gid is missing"},
        {request("/stock/confirm"), "400", "mortise-call"},
    };
    for (const auto& each : all) {
        const auto answer = ask(each.bytes);
        EXPECT_EQ(status(answer), each.status) << each.bytes << answer;
        EXPECT_NE(answer.find(each.says), std::string::npos) << answer;
        EXPECT_EQ(answer.find("mortise-verdict"), std::string::npos);
    }
    EXPECT_TRUE(stock_->calls().empty());
}

TEST_F(TxnHttpServer, WhatIsTooLongIsRefusedAndNotKept) {
    txn::http_server_config how;
    how.header_max = 2'048;
    how.body_max = 1'024;
    open(how);
    raw_client longer(port());
    EXPECT_EQ(
        status(longer.ask(request("/stock/try", "", "x: " + std::string(3'000, 'x') + "\r\n"))),
        "431"
    );
    EXPECT_EQ(longer.rest(), "") << "it is closed";
    EXPECT_EQ(status(ask(request("/stock/try", std::string(1'025, 'x')))), "413");
    EXPECT_EQ(status(ask(request("/stock/try", std::string(1'024, 'x')))), "200");
}

TEST_F(TxnHttpServer, AFailureIsNoAnswer) {
    open();
    stock_->answer_by([](const txn::call&) -> result<txn::reply> {
        return error_code(errc::database_busy);
    });
    EXPECT_EQ(status(ask(request("/stock/try"))), "500");
    stock_->answer_by([](const txn::call&) -> result<txn::reply> {
        throw std::runtime_error("the ledger is closed");
    });
    const auto answer = ask(request("/stock/try"));
    EXPECT_EQ(status(answer), "500");
    EXPECT_NE(answer.find("the ledger is closed"), std::string::npos) << "for people";
    EXPECT_EQ(answer.find("mortise-verdict"), std::string::npos);
    EXPECT_EQ(answer.find("mortise-error"), std::string::npos);
}

TEST_F(TxnHttpServer, RequestsOfOneConnectionAreAnsweredInTheirOrder) {
    open();
    stock_->answer_by([](const txn::call& call) { return txn::reply::done(call.payload); });
    raw_client client(port());
    ASSERT_TRUE(client.send(request("/stock/try", "a") + request("/stock/try", "b")));
    EXPECT_EQ(client.answer().back(), 'a');
    EXPECT_EQ(client.answer().back(), 'b');
    const auto last = client.ask(request("/stock/try", "c", "connection: close\r\n"));
    EXPECT_EQ(last.back(), 'c');
    EXPECT_EQ(client.rest(), "");
}

TEST_F(TxnHttpServer, AByteAtATimeIsARequestToo) {
    open();
    raw_client client(port());
    for (const char each : request("/stock/try"))
        ASSERT_TRUE(client.send(std::string(1, each)));
    EXPECT_EQ(status(client.answer()), "200");
}

TEST_F(TxnHttpServer, TellsAClientThatWaitsToGoOn) {
    open();
    raw_client client(port());
    const std::string whole = request("/stock/try", "two apples", "expect: 100-continue\r\n");
    const auto header = whole.size() - 10;
    EXPECT_EQ(client.ask(whole.substr(0, header)), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(status(client.ask(whole.substr(header))), "200");
}

TEST_F(TxnHttpServer, WhoIsTooSlowIsToldSoAndWhoIsIdleIsClosed) {
    const auto time = std::make_shared<coro::virtual_time>(thread_.context.get_executor());
    txn::http_server_config how;
    how.time = time;
    how.write_max = std::chrono::hours(1);  // a jump may come between the answer and its end
    open(how);
    raw_client idle(port());
    raw_client slow(port());
    ASSERT_EQ(status(idle.ask(request("/stock/try"))), "200");
    ASSERT_TRUE(slow.send("POST /stock/try HT"));
    for (int i = 0; i < 2; ++i)  // so that the server has heard of the slow one
        ASSERT_EQ(status(idle.ask(request("/stock/try"))), "200");
    time->advance(how.read_max);
    EXPECT_EQ(status(slow.answer()), "408");
    EXPECT_EQ(status(idle.ask(request("/stock/try"))), "200") << "that one is not slow";
    ASSERT_TRUE(eventually([&] {
        time->advance(milliseconds(1'000));
        return time->now() > clock::time_point(std::chrono::hours(1)) + how.idle_max * 2;
    }));
    EXPECT_EQ(idle.rest(), "");
}

TEST_F(TxnHttpServer, WhoComesWhenItIsFullTakesThePlaceOfAnIdleOne) {
    txn::http_server_config how;
    how.connections_max = 2;
    open(how);
    raw_client first(port());
    raw_client second(port());
    ASSERT_EQ(status(first.ask(request("/stock/try"))), "200");
    ASSERT_EQ(status(second.ask(request("/stock/try"))), "200");
    ASSERT_EQ(status(first.ask(request("/stock/try"))), "200");
    raw_client third(port());
    EXPECT_EQ(status(third.ask(request("/stock/try"))), "200");
    EXPECT_EQ(second.rest(), "") << "it was idle for longest";
    EXPECT_EQ(status(first.ask(request("/stock/try"))), "200");
}

TEST_F(TxnHttpServer, AStopLetsTheCallUnderWayEndAndAnswersIt) {
    open();
    stock_->hold_tries(true);
    raw_client idle(port());
    raw_client busy(port());
    ASSERT_EQ(status(idle.ask(request("/other/try"))), "404");
    ASSERT_TRUE(busy.send(request("/stock/try")));
    ASSERT_TRUE(eventually([&] { return stock_->calls().size() == 1; }));
    auto stopped = server_->async_stop(asio::use_future);
    EXPECT_EQ(idle.rest(), "");
    EXPECT_EQ(stopped.wait_for(milliseconds(20)), std::future_status::timeout);
    stock_->hold_tries(false);
    const auto answer = busy.rest();
    EXPECT_EQ(status(answer), "200");
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
    ASSERT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    server_->async_stop(asio::use_future).get();
    EXPECT_THROW(raw_client(port()).ask(request("/stock/try")), std::system_error);
}

TEST_F(TxnHttpServer, AStopCancelsWhatTakesLongerThanItsGrace) {
    txn::http_server_config how;
    how.grace = milliseconds(20);
    open(how);
    stock_->hold_tries(true);
    raw_client busy(port());
    ASSERT_TRUE(busy.send(request("/stock/try")));
    ASSERT_TRUE(eventually([&] { return stock_->calls().size() == 1; }));
    auto stopped = server_->async_stop(asio::use_future);
    ASSERT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(busy.rest(), "");
}

TEST_F(TxnHttpServer, ContextsAndServersEndInWhateverOrder) {
    std::optional<txn::participant_server> outlives;
    {
        server_thread other;
        txn::participant_server::participants served;
        served.emplace("stock", stock_);
        outlives.emplace(other.context.get_executor(), txn::http_server_config(), served);
        stock_->hold_tries(true);
        raw_client busy(outlives->port());
        ASSERT_TRUE(busy.send(request("/stock/try")));
        ASSERT_TRUE(eventually([&] { return stock_->calls().size() == 1; }));
        other.context.stop();
    }
    outlives.reset();
    stock_->hold_tries(false);
    open();
    EXPECT_EQ(status(ask(request("/stock/try"))), "200");
}

TEST_F(TxnHttpServer, ThatCannotListenSaysWhere) {
    open();
    txn::http_server_config how;
    how.port = port();
    const auto refused = [&](txn::http_server_config with) {
        try {
            const txn::participant_server server(thread_.context.get_executor(), with, {});
        } catch (const error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    EXPECT_NE(refused(how).find(std::to_string(how.port)), std::string::npos);
    how.address = "localhost";
    EXPECT_NE(refused(how).find("numbers"), std::string::npos);
    how = txn::http_server_config();
    how.connections_max = 0;
    EXPECT_NE(refused(how).find("connections_max"), std::string::npos);
}

TEST_F(TxnHttpServer, SaysWhereAParticipantIsFound) {
    open();
    const auto place = "http://127.0.0.1:" + std::to_string(port());
    EXPECT_EQ(server_->url("stock"), place + "/stock");
    EXPECT_EQ(server_->url("a b/c"), place + "/a%20b%2Fc");
}

}  // namespace
}  // namespace mortise::test::participant_server_test
