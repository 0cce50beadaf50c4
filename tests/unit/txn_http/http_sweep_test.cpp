// SPDX-License-Identifier: BSL-1.0
// What waits in txn/http, cancelled before each of its handlers.
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/http/control_server.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "mortise/txn/http/participant_server.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"
#include "support/tls_material.hpp"
#include "unit/db/db_world.hpp"
#include "unit/txn/scripted_participant.hpp"
#include "unit/txn_http/raw_client.hpp"
#include "unit/txn_http/server_thread.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::http_sweep_test {
namespace {

class TxnHttpSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, TxnHttpSweep, testing::ValuesIn(cancellation_types), param_name());

/// A world of clients; the server has a thread of its own.
class http_world : public db_world {
public:
    http_world() : http_world(txn::http_server_config()) {}
    explicit http_world(txn::http_server_config how) {
        txn::participant_server::participants served;
        served.emplace("stock", stock);
        server.emplace(thread_.context.get_executor(), std::move(how), served);
    }
    ~http_world() {
        server.reset();
        thread_.join();
    }

    txn::http_client_config to_server() const {
        txn::http_client_config config(server->url("stock"));
        if (config.url.starts_with("https"))
            config.ca_file = shared_tls().authority();
        return config;
    }

    std::shared_ptr<scripted_participant> stock = std::make_shared<scripted_participant>();
    std::optional<txn::participant_server> server;

private:
    server_thread thread_;
};

/// The same over TLS.
class https_world : public http_world {
public:
    https_world() : http_world(proved()) {}

private:
    static txn::http_server_config proved() {
        txn::http_server_config config;
        config.certificate_file = shared_tls().server().certificate;
        config.key_file = shared_tls().server().key;
        return config;
    }
};

txn::call some_call() {
    txn::call call;
    call.gid = {42, 1};
    call.branch = 1;
    call.attempt = 1;
    call.participant = "stock";
    return call;
}

class calling final : public sweep_case {
public:
    calling(http_world& world, bool twice)
        : world_(world), stock_(world.context.get_executor(), world.to_server()) {
        if (twice) {  // so that there is a connection to use again
            EXPECT_TRUE(world.run(stock_.carry_out(some_call())));
        }
        before_ = world.stock->calls().size();
    }

    asio::awaitable<void> operation() override {
        auto doing = stock_.carry_out(some_call());
        answer_ = co_await std::move(doing);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        if (answer_ && *answer_) {
            EXPECT_EQ(world_.stock->calls().size(), before_ + 1);
        } else if (answer_) {
            EXPECT_EQ(answer_->error(), asio::error::operation_aborted);
        }
        EXPECT_TRUE(world_.run(stock_.carry_out(some_call()))) << "the next call is none the worse";
    }

private:
    http_world& world_;
    txn::http_participant stock_;
    std::size_t before_ = 0;
    std::optional<result<txn::reply>> answer_;
};

TEST_P(TxnHttpSweep, ACallThatWasCancelledLeavesTheNextOneAlone) {
    for (const bool twice : {false, true}) {
        const auto steps =
            cancel_sweep<http_world>("http_participant::carry_out", GetParam(), [twice](auto& at) {
                return std::make_unique<calling>(at, twice);
            });
        EXPECT_GE(steps, 4u);
        const auto with_tls =
            cancel_sweep<https_world>("http_participant::carry_out", GetParam(), [twice](auto& at) {
                return std::make_unique<calling>(at, twice);
            });
        EXPECT_GE(with_tls, 4u);
    }
}

/// A world with a server, which rests when nothing has happened for a while.
class served_world : public db_world {
public:
    void settle() {
        context.restart();
        while (context.run_one_for(std::chrono::milliseconds(50)) != 0) {
        }
    }
};

/// A server, or what else can be stopped, is.
template <class Stopped>
class stopping final : public sweep_case {
public:
    explicit stopping(served_world& world) : server_(world) {}

    asio::awaitable<void> operation() override {
        begun_ = true;
        auto ending = server_.stopped.async_stop();
        co_await std::move(ending);
        ended_ = true;
    }
    void check(const co_world::outcome&) override {
        EXPECT_EQ(ended_, begun_) << "a stop is not stopped";
        if (ended_)
            server_.check();
    }

private:
    Stopped server_;
    bool begun_ = false;
    bool ended_ = false;
};

/// With a client that has connected.
class some_server {
public:
    explicit some_server(served_world& world)
        : stopped(world.context.get_executor(), txn::http_server_config(), {}),
          client_(stopped.port()) {}
    void check() { EXPECT_EQ(client_.rest(), ""); }

    txn::participant_server stopped;

private:
    raw_client client_;
};

txn::control_server_config control_config() {
    txn::control_server_config config;
    config.token = "correct-horse-battery";
    return config;
}

class some_control {
public:
    explicit some_control(served_world& world)
        : of_(world.context.get_executor(), log_of(world)),
          stopped(world.context.get_executor(), control_config(), of_),
          client_(stopped.port()) {}
    void check() { EXPECT_EQ(client_.rest(), ""); }

private:
    static txn::coordinator_config log_of(const served_world& world) {
        txn::coordinator_config config;
        config.log = world.database().parent_path() / "log.db";
        return config;
    }

    txn::coordinator of_;

public:
    txn::control_server stopped;

private:
    raw_client client_;
};

TEST_P(TxnHttpSweep, AStopIsNotStopped) {
    cancel_sweep<served_world>("participant_server::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<stopping<some_server>>(at);
    });
    cancel_sweep<served_world>("control_server::async_stop", GetParam(), [](auto& at) {
        return std::make_unique<stopping<some_control>>(at);
    });
}

}  // namespace
}  // namespace mortise::test::http_sweep_test
