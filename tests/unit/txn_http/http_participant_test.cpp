// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/virtual_time.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "support/eventually.hpp"
#include "support/port_reservation.hpp"
#include "unit/db/db_world.hpp"
#include "unit/txn_http/scripted_server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::http_participant_test {
namespace {

using then = scripted_server::then;
using step = scripted_server::step;

txn::call some_call(std::string payload = "two apples") {
    txn::call call;
    call.gid = {42, 1};
    call.branch = 1;
    call.attempt = 1;
    call.epoch = 1;
    call.participant = "stock";
    call.payload = std::move(payload);
    return call;
}

class TxnHttpParticipant : public testing::Test {
protected:
    void connect(const scripted_server& to) { connect(txn::http_client_config(to.url())); }
    void connect(txn::http_client_config how) {
        stock_.emplace(world_.context.get_executor(), std::move(how));
    }

    result<txn::reply> call(txn::call request = some_call()) {
        return world_.run(stock_->carry_out(std::move(request)));
    }
    /// Empty if it was done.
    error_code failure() {
        const auto got = call();
        return got ? error_code() : got.error();
    }

    /// A call that is cancelled when the server has its request.
    std::optional<error_code> cancelled(const scripted_server& at, std::size_t requests) {
        asio::cancellation_signal signal;
        std::optional<error_code> code;
        asio::co_spawn(
            world_.context,
            stock_->carry_out(some_call()),
            asio::bind_cancellation_slot(
                signal.slot(),
                [&code](const std::exception_ptr& thrown, const result<txn::reply>& got) {
                    code = thrown || got ? error_code() : got.error();
                    if (thrown)
                        code = asio::error::operation_aborted;
                }
            )
        );
        const auto end = clock::now() + std::chrono::seconds(20);
        world_.step_while([&] { return at.requests().size() < requests && clock::now() < end; });
        signal.emit(asio::cancellation_type::terminal);
        world_.settle();
        return code;
    }

    db_world world_;
    std::optional<txn::http_participant> stock_;
};

const error_code failed = txn::errc::call_failed;

TEST_F(TxnHttpParticipant, UsesAConnectionAgain) {
    scripted_server server({{{scripted_server::done("a")}, {scripted_server::done("b")}}});
    connect(server);
    EXPECT_EQ(call()->payload, "a");
    EXPECT_EQ(call()->payload, "b");
    EXPECT_EQ(server.connections(), 1u);
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 2u);
    EXPECT_EQ(requests[0].substr(0, 25), "POST /stock/try HTTP/1.1\r");
    EXPECT_EQ(requests[0].substr(requests[0].size() - 10), "two apples");
}

TEST_F(TxnHttpParticipant, SendsTheHeadersOfItsConfiguration) {
    scripted_server server({{{scripted_server::done()}, {scripted_server::done()}}});
    txn::http_client_config how(server.url());
    how.headers = {{"X-Tenant", "shop 7"}, {"x-route", "blue"}, {"authorization", "Basic abc"}};
    connect(how);
    EXPECT_EQ(failure(), error_code());
    EXPECT_EQ(failure(), error_code());
    for (const auto& each : server.requests()) {
        for (const char* line :
             {"\r\nX-Tenant: shop 7\r\n",
              "\r\nx-route: blue\r\n",
              "\r\nauthorization: Basic abc\r\n"})
            EXPECT_NE(each.find(line), std::string::npos) << each;
    }
}

TEST_F(TxnHttpParticipant, AConnectionThatDiedMeanwhileIsReplacedOnce) {
    // Whether it notices before it sends, or only when no byte comes back: both end well.
    for (const auto end : {then::close, then::reset}) {
        scripted_server server({{{scripted_server::done()}, {"", end}}, {{scripted_server::done()}}}
        );
        connect(server);
        EXPECT_EQ(failure(), error_code());
        EXPECT_EQ(failure(), error_code());
        EXPECT_EQ(server.connections(), 2u);
        EXPECT_EQ(server.requests().size(), 3u);
    }
}

TEST_F(TxnHttpParticipant, AClosedConnectionIsSeenBeforeItIsUsed) {
    scripted_server server({{{scripted_server::done(), then::close}}});
    connect(server);
    EXPECT_EQ(failure(), error_code());
    EXPECT_TRUE(eventually([&] { return server.ended() == 1; }));
    EXPECT_EQ(failure(), error_code());
    EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(TxnHttpParticipant, AFreshConnectionThatDiesIsNotReplaced) {
    scripted_server server({{{"", then::close}}});
    connect(server);
    EXPECT_EQ(failure(), asio::error::eof);
    EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(TxnHttpParticipant, AnAnswerThatHasBegunIsNotAskedForAgain) {
    scripted_server server(
        {{{scripted_server::done()}, {"HTTP/1.1 200 OK\r\nmortise-ver", then::close}}}
    );
    connect(server);
    EXPECT_EQ(failure(), error_code());
    EXPECT_EQ(failure(), failed);
    EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(TxnHttpParticipant, TakesNothingBrokenForAnAnswer) {
    const std::string whole = scripted_server::done("words");
    const std::vector<step> broken = {
        {whole.substr(0, 10), then::close},
        {whole.substr(0, whole.size() - 1), then::close},
        {whole.substr(0, whole.size() - 1), then::reset},
        {"hello\r\n\r\n", then::close},
        {std::string(100, '\0'), then::close},
        {"HTTP/1.1 200 OK\r\nmortise-call: $CALL\r\nmortise-verdict: done\r\n\r\n", then::close},
        {scripted_server::answer("200 OK", ""), then::go_on},
        {scripted_server::answer("302 Found", "location: /stock/other\r\n"), then::go_on},
    };
    for (const auto& each : broken) {
        scripted_server server({{each}});
        connect(server);
        const auto code = failure();
        EXPECT_TRUE(code == failed || code == asio::error::connection_reset) << code.message();
        EXPECT_EQ(server.requests().size(), 1u) << "neither repeated nor redirected";
    }
}

TEST_F(TxnHttpParticipant, AnAnswerThatComesTwiceIsNotTheAnswerToTheNextCall) {
    const std::string twice = scripted_server::done("a") + scripted_server::done("b");
    scripted_server server({{{twice}}, {{scripted_server::done("c")}}});
    connect(server);
    EXPECT_EQ(call()->payload, "a");
    EXPECT_EQ(call()->payload, "c");
    EXPECT_EQ(server.connections(), 2u);
}

TEST_F(TxnHttpParticipant, AnAnswerToAnotherCallIsNone) {
    scripted_server server({{{scripted_server::answer(
        "200 OK", "mortise-call: try.000000000000002a-9.1.1.1\r\nmortise-verdict: done\r\n"
    )}}});
    connect(server);
    EXPECT_EQ(failure(), failed);
}

TEST_F(TxnHttpParticipant, InterimAnswersArePassedOver) {
    const std::string hint = "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n";
    std::string many;
    for (int i = 0; i < 100; ++i)
        many += hint;
    scripted_server server({{{hint + scripted_server::done("a")}, {many}}});
    connect(server);
    EXPECT_EQ(call()->payload, "a");
    EXPECT_EQ(failure(), failed);
}

TEST_F(TxnHttpParticipant, AnAnswerThatIsTooLongIsNone) {
    const std::string header = "x: " + std::string(20'000, 'x') + "\r\n";
    scripted_server server(
        {{{scripted_server::answer("200 OK", header + "mortise-verdict: done\r\n")}},
         {{scripted_server::done(std::string(3'000, 'x'))}},
         {{scripted_server::done(std::string(2'000, 'x'))}}}
    );
    txn::http_client_config how(server.url());
    how.body_max = 2'048;
    connect(how);
    EXPECT_EQ(failure(), failed);
    EXPECT_EQ(failure(), failed);
    EXPECT_EQ(call()->payload.size(), 2'000u);
}

TEST_F(TxnHttpParticipant, ACancelledCallClosesItsConnection) {
    scripted_server server(
        {{{"", then::hang}},
         {{"HTTP/1.1 200 OK\r\nmortise-verdict: do", then::hang}},
         {{scripted_server::done().substr(0, 60), then::hang}},
         {{scripted_server::done()}}}
    );
    connect(server);
    for (std::size_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(cancelled(server, i), asio::error::operation_aborted);
        EXPECT_TRUE(eventually([&] { return server.ended() == i; })) << "it is not closed";
    }
    EXPECT_EQ(failure(), error_code());
    EXPECT_EQ(server.connections(), 4u);
}

TEST_F(TxnHttpParticipant, CallsAboveTheLimitWaitForTheirTurn) {
    scripted_server server({{{"", then::hang}}, {{scripted_server::done(), then::close}}});
    txn::http_client_config how(server.url());
    how.connections_max = 1;
    connect(how);
    EXPECT_EQ(stock_->calls_at_once(), 1u) << "a coordinator keeps the others";
    int done = 0;
    asio::cancellation_signal signal;
    asio::co_spawn(
        world_.context,
        stock_->carry_out(some_call()),
        asio::bind_cancellation_slot(signal.slot(), [](auto, auto) {})
    );
    const auto end = clock::now() + std::chrono::seconds(20);
    world_.step_while([&] { return server.requests().empty() && clock::now() < end; });
    for (int i = 0; i < 3; ++i) {
        asio::co_spawn(world_.context, stock_->carry_out(some_call()), [&done](auto, auto got) {
            done += got ? 1 : 0;
        });
    }
    world_.context.poll();
    EXPECT_EQ(server.connections(), 1u);
    signal.emit(asio::cancellation_type::terminal);
    world_.settle();
    EXPECT_EQ(done, 3);
    EXPECT_EQ(server.connections(), 4u);
}

TEST_F(TxnHttpParticipant, AConnectionThatWasIdleForTooLongIsNotUsed) {
    scripted_server server({{{scripted_server::done()}, {scripted_server::done()}}});
    txn::http_client_config how(server.url());
    auto time = std::make_shared<coro::virtual_time>(world_.context.get_executor());
    how.time = time;
    how.idle_max = std::chrono::seconds(10);
    connect(how);
    EXPECT_EQ(failure(), error_code());
    time->advance(std::chrono::seconds(10));
    EXPECT_EQ(failure(), error_code());
    EXPECT_EQ(server.connections(), 1u);
    time->advance(std::chrono::seconds(11));
    EXPECT_EQ(failure(), error_code());
    EXPECT_EQ(server.connections(), 2u);
}

TEST_F(TxnHttpParticipant, APeerThatMovesIsFoundByItsName) {
    std::optional<scripted_server> server(
        std::in_place, std::vector<scripted_server::script>{{{scripted_server::done()}}}
    );
    connect(txn::http_client_config("http://localhost:" + std::to_string(server->port()) + "/a"));
    EXPECT_EQ(failure(), error_code());
}

TEST_F(TxnHttpParticipant, NobodyThereIsAnErrorOfTheConnection) {
    const port_reservation nobody;
    connect(txn::http_client_config("http://127.0.0.1:" + std::to_string(nobody.port())));
    EXPECT_EQ(failure(), asio::error::connection_refused);
}

TEST_F(TxnHttpParticipant, CallsMayOutliveIt) {
    scripted_server server({{{"", then::hang}}});
    connect(server);
    std::optional<error_code> code;
    asio::co_spawn(world_.context, stock_->carry_out(some_call()), [&code](auto, auto got) {
        code = got ? error_code() : got.error();
    });
    const auto end = clock::now() + std::chrono::seconds(20);
    world_.step_while([&] { return server.requests().empty() && clock::now() < end; });
    auto late = stock_->carry_out(some_call());
    stock_.reset();
    world_.settle();
    EXPECT_EQ(code, asio::error::operation_aborted);
    EXPECT_EQ(world_.run(std::move(late)).error(), failed);
}

TEST(TxnHttpParticipantEnd, MayOutliveItsContext) {
    scripted_server server({{{scripted_server::done()}, {"", then::hang}}});
    std::optional<txn::http_participant> stock;
    {
        db_world world;
        stock.emplace(world.context.get_executor(), txn::http_client_config(server.url()));
        EXPECT_TRUE(world.run(stock->carry_out(some_call())));
        asio::co_spawn(world.context, stock->carry_out(some_call()), [](auto, auto) {});
        const auto end = clock::now() + std::chrono::seconds(20);
        world.step_while([&] { return server.requests().size() < 2 && clock::now() < end; });
    }
    EXPECT_TRUE(eventually([&] { return server.ended() == 1; }));
    db_world other;
    EXPECT_EQ(other.run(stock->carry_out(some_call())).error(), failed);
}

TEST(TxnHttpParticipantConfig, ThatBreaksALimitIsRefused) {
    asio::io_context context;
    const auto code_of = [&](auto change) {
        txn::http_client_config how("http://stock");
        change(how);
        try {
            const txn::http_participant participant(context.get_executor(), how);
        } catch (const mortise::error& why) {
            return why.code();
        }
        return error_code();
    };
    using config = txn::http_client_config;
    EXPECT_EQ(code_of([](config&) {}), error_code());
    EXPECT_EQ(code_of([](config& how) { how.url = "stock"; }), errc::bad_url);
    EXPECT_EQ(code_of([](config& how) { how.connections_max = 0; }), errc::bad_config);
    EXPECT_EQ(code_of([](config& how) { how.header_max = 1; }), errc::bad_config);
    EXPECT_EQ(code_of([](config& how) { how.body_max = 1u << 30; }), errc::bad_config);
    EXPECT_EQ(
        code_of([](config& how) { how.idle_max = std::chrono::milliseconds(-1); }), errc::bad_config
    );
}

TEST(TxnHttpParticipantConfig, AHeaderThatBreaksARequestIsRefused) {
    asio::io_context context;
    const auto refusal = [&](const std::string& name, const std::string& value) {
        txn::http_client_config how("http://stock");
        how.token = "some-token";
        how.headers.emplace_back(name, value);
        try {
            const txn::http_participant participant(context.get_executor(), how);
        } catch (const mortise::error& why) {
            EXPECT_EQ(why.code(), errc::bad_config);
            return std::string(why.what());
        }
        return std::string();
    };
    EXPECT_EQ(refusal("x-tenant", "shop"), "");
    const std::string names[] = {
        "",
        "x tenant",
        "x:tenant",
        "x\r\nmortise-gid",
        "x-ten\xc3\xa4nt",
        "mortise-gid",
        "Mortise-Anything",
        "Host",
        "content-length",
        "Transfer-Encoding",
        "connection",
        "traceparent",
        "Authorization",
    };
    for (const auto& each : names) {
        const auto text = refusal(each, "secret-value");
        EXPECT_NE(text, "") << each;
        EXPECT_EQ(text.find("secret-value"), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
    const std::string secret = "secret-value";
    for (const auto& each :
         {std::string(),
          secret + "\r\nmortise-gid: 1",
          secret + "\n",
          secret + '\0',
          " " + secret,
          secret + "\xff",
          std::string(4'097, 's')}) {
        const auto text = refusal("x-tenant", each);
        EXPECT_NE(text.find("x-tenant"), std::string::npos) << text;
        EXPECT_EQ(text.find(secret), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace mortise::test::http_participant_test
