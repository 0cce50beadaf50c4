// SPDX-License-Identifier: BSL-1.0
// Participants over TLS: who is trusted, and what a slow handshake costs others.
#include "mortise/coro/virtual_time.hpp"
#include "mortise/txn/error.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "support/tls_material.hpp"
#include "unit/txn_http/login_fixture.hpp"
#include "unit/txn_http/raw_client.hpp"
#include "unit/txn_http/scripted_server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::tls_test {
namespace {

class TxnHttpTls : public login_fixture {
protected:
    static txn::participant_server_config proved_by(const tls_material::identity& who) {
        txn::participant_server_config config;
        config.listen.certificate_file = who.certificate;
        config.listen.key_file = who.key;
        return config;
    }
    static txn::participant_server_config of_localhost() {
        return proved_by(shared_tls().server());
    }

    txn::http_client_config trusting(const std::string& host = "localhost") const {
        auto config = by("https://" + host);
        config.ca_file = shared_tls().authority();
        return config;
    }
    static txn::http_client_config
    with(txn::http_client_config config, const tls_material::identity& who) {
        config.certificate_file = who.certificate;
        config.key_file = who.key;
        return config;
    }
};

TEST_F(TxnHttpTls, CallsAreCarriedOutAndAConnectionIsUsedAgain) {
    open(of_localhost());
    EXPECT_EQ(server_->url("stock"), "https://127.0.0.1:" + std::to_string(port()) + "/stock");
    txn::http_participant there(world_.context.get_executor(), trusting());
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(call(there), error_code()) << text_;
    EXPECT_EQ(stock_->calls().size(), 3u);
    EXPECT_EQ(stock_->calls()[0].payload, "two apples");
    EXPECT_EQ(server_->stats().connections, 1u);
    EXPECT_EQ(server_->stats().requests, 3u);
    EXPECT_EQ(call(trusting("127.0.0.1")), error_code()) << "an address has a name in it, too";
}

TEST_F(TxnHttpTls, LongMessagesArriveWhole) {
    open(of_localhost());
    const std::string large(300'000, 'x');
    stock_->answer_by([](const txn::call& call) { return txn::reply::done(call.payload); });
    txn::http_participant there(world_.context.get_executor(), trusting());
    auto asked = some_call();
    asked.payload = large;
    const auto got = world_.run(there.carry_out(asked));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->payload, large);
}

TEST_F(TxnHttpTls, AServerThatEndsItsConnectionIsCalledByANewOne) {
    auto how = of_localhost();
    const auto time = std::make_shared<coro::virtual_time>(thread_.context.get_executor());
    how.listen.time = time;
    open(how);
    txn::http_participant there(world_.context.get_executor(), trusting());
    EXPECT_EQ(call(there), error_code());
    ASSERT_TRUE(eventually([&] {  // the idle one is closed
        time->advance(how.listen.idle_max);
        return call(there) == error_code() && server_->stats().connections >= 2;
    }));
    EXPECT_EQ(server_->stats().handshakes_failed, 0u);
}

TEST_F(TxnHttpTls, AServerWithAnotherNameIsNotTrusted) {
    open(proved_by(shared_tls().elsewhere()));
    for (const char* host : {"localhost", "127.0.0.1"}) {
        EXPECT_EQ(call(trusting(host)), errc::untrusted_server);
        EXPECT_TRUE(says("mismatch")) << text_;
    }
    EXPECT_TRUE(stock_->calls().empty()) << "not a byte of a call was sent";
    EXPECT_EQ(server_->stats().requests, 0u);
}

TEST_F(TxnHttpTls, AServerOfAnotherAuthorityIsNotTrusted) {
    open(proved_by(shared_tls().stranger()));
    EXPECT_EQ(call(trusting()), errc::untrusted_server);
    EXPECT_TRUE(says("certificate")) << text_;
    EXPECT_EQ(call(by("https://localhost")), errc::untrusted_server) << "nor by the system's";
    EXPECT_TRUE(stock_->calls().empty());
    EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 2; }));
}

TEST_F(TxnHttpTls, AServerCanAskForACertificateOfItsClients) {
    auto how = of_localhost();
    how.listen.client_ca_file = shared_tls().authority();
    open(how);
    EXPECT_EQ(call(trusting()), errc::access_denied) << text_;
    EXPECT_EQ(call(with(trusting(), shared_tls().stranger())), errc::access_denied) << text_;
    EXPECT_TRUE(stock_->calls().empty());
    EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 2; }));
    EXPECT_EQ(call(with(trusting(), shared_tls().client())), error_code()) << text_;
    EXPECT_EQ(stock_->calls().size(), 1u);
}

TEST_F(TxnHttpTls, WhoDoesNotSpeakItIsNotHeard) {
    open(of_localhost());
    EXPECT_EQ(
        raw_client(port()).ask("POST /stock/try HTTP/1.1\r\n\r\n").find("HTTP"), std::string::npos
    );
    const auto plain = call(by("http://127.0.0.1"));
    EXPECT_TRUE(plain == txn::errc::call_failed || plain == asio::error::eof) << plain.message();
    EXPECT_TRUE(stock_->calls().empty());
    EXPECT_EQ(server_->stats().requests, 0u);
    EXPECT_TRUE(eventually([&] { return server_->stats().handshakes_failed == 2; }));
}

TEST_F(TxnHttpTls, AServerWithoutItIsNotCalledByHttps) {
    open(txn::http_server_config());
    EXPECT_EQ(call(trusting()), txn::errc::call_failed);
    EXPECT_TRUE(says("TLS")) << text_;
    EXPECT_TRUE(stock_->calls().empty());
}

TEST_F(TxnHttpTls, ASlowHandshakeHoldsUpNobodyAndHasALimit) {
    auto how = of_localhost();
    const auto time = std::make_shared<coro::virtual_time>(thread_.context.get_executor());
    how.listen.time = time;
    how.listen.idle_max = std::chrono::hours(2);
    open(how);
    raw_client silent(port());
    raw_client slow(port());
    ASSERT_TRUE(slow.send("\x16\x03\x01"));  // the first bytes of a greeting
    ASSERT_TRUE(eventually([&] { return server_->stats().connections == 2; }));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(call(trusting()), error_code()) << text_;
    EXPECT_EQ(server_->stats().handshakes_failed, 0u);
    time->advance(how.listen.handshake_max);
    EXPECT_EQ(silent.rest(), "");
    EXPECT_EQ(slow.rest(), "");
    EXPECT_EQ(server_->stats().handshakes_failed, 2u);
}

TEST_F(TxnHttpTls, WhoNeverShakesHandsMakesRoom) {
    auto how = of_localhost();
    how.listen.connections_max = 2;
    how.listen.handshake_max = std::chrono::hours(1);
    open(how);
    raw_client first(port());
    raw_client second(port());
    ASSERT_TRUE(eventually([&] { return server_->stats().connections == 2; }));
    EXPECT_EQ(call(trusting()), error_code()) << text_;
    EXPECT_EQ(first.rest(), "") << "it came first";
}

TEST_F(TxnHttpTls, AStopDoesNotWaitForHandshakes) {
    auto how = of_localhost();
    how.listen.handshake_max = how.listen.grace = std::chrono::hours(1);
    open(how);
    raw_client silent(port());
    ASSERT_TRUE(eventually([&] { return server_->stats().connections == 1; }));
    auto stopped = server_->async_stop(asio::use_future);
    EXPECT_EQ(silent.rest(), "");
    ASSERT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(TxnHttpTls, ACallThatIsCancelledInItsHandshakeEnds) {
    scripted_server mute({{{"", scripted_server::then::hang}}});
    txn::http_client_config how("https://127.0.0.1:" + std::to_string(mute.port()));
    txn::http_participant there(world_.context.get_executor(), how);
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    asio::co_spawn(
        world_.context,
        there.carry_out(some_call()),
        asio::bind_cancellation_slot(
            signal.slot(),
            [&ended](const std::exception_ptr& thrown, const result<txn::reply>& got) {
                ended = thrown || got ? error_code() : got.error();
                if (thrown)
                    ended = asio::error::operation_aborted;
            }
        )
    );
    const auto end = clock::now() + std::chrono::seconds(20);
    world_.step_while([&] { return mute.connections() == 0 && clock::now() < end; });
    EXPECT_FALSE(ended);
    signal.emit(asio::cancellation_type::terminal);
    world_.settle();
    EXPECT_EQ(ended, asio::error::operation_aborted);
    EXPECT_TRUE(eventually([&] { return mute.ended() == 1; })) << "its connection is not closed";
}

TEST_F(TxnHttpTls, AFileThatCannotBeUsedIsNamed) {
    const scratch_folder folder;
    const auto nothing = folder.path() / "nothing.pem";
    const auto serving = [this](const txn::participant_server_config& how) {
        return refusal([&] { open(how); });
    };
    const auto calling = [this](const txn::http_client_config& how) {
        return refusal([&] {
            txn::http_participant participant(world_.context.get_executor(), how);
        });
    };
    auto how = of_localhost();
    how.listen.certificate_file = nothing;
    EXPECT_NE(serving(how).find("nothing.pem"), std::string::npos);
    how = of_localhost();
    how.listen.key_file = shared_tls().client().key;
    EXPECT_NE(serving(how).find("client.key"), std::string::npos) << "it belongs to another one";
    how = of_localhost();
    how.listen.key_file.clear();
    EXPECT_NE(serving(how).find("key_file"), std::string::npos);
    how = of_localhost();
    how.listen.client_ca_file = nothing;
    EXPECT_NE(serving(how).find("nothing.pem"), std::string::npos);
    how = txn::participant_server_config();
    how.listen.client_ca_file = shared_tls().authority();
    EXPECT_NE(serving(how).find("certificate"), std::string::npos) << "nobody would look at it";

    txn::http_client_config client("https://localhost");
    client.ca_file = nothing;
    EXPECT_NE(calling(client).find("nothing.pem"), std::string::npos);
    client = txn::http_client_config("http://localhost");
    client.ca_file = shared_tls().authority();
    EXPECT_NE(calling(client).find("https://"), std::string::npos);
    client = with(txn::http_client_config("https://localhost"), shared_tls().client());
    EXPECT_EQ(calling(client), "");
    client.key_file = shared_tls().server().key;
    EXPECT_NE(calling(client).find("localhost.key"), std::string::npos);
}

}  // namespace
}  // namespace mortise::test::tls_test
