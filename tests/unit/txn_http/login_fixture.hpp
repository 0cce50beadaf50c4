// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_HTTP_LOGIN_FIXTURE_HPP
#define MORTISE_TESTS_UNIT_TXN_HTTP_LOGIN_FIXTURE_HPP

#include "mortise/txn/http/http_participant.hpp"
#include "mortise/txn/http/participant_server.hpp"
#include "unit/db/db_world.hpp"
#include "unit/txn/scripted_participant.hpp"
#include "unit/txn_http/server_thread.hpp"

#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

/// A participant server on a thread of its own, and clients with whatever configuration.
class login_fixture : public testing::Test {
protected:
    ~login_fixture() override {
        server_.reset();
        thread_.join();
    }

    void open(txn::participant_server_config how) {
        txn::participant_map served;
        served.emplace("stock", stock_);
        server_.emplace(thread_.context.get_executor(), std::move(how), std::move(served));
    }

    std::uint16_t port() const { return server_->port(); }

    /// Leads to the participant by this name of the host.
    txn::http_client_config by(const std::string& scheme_and_host) const {
        return txn::http_client_config(
            scheme_and_host + ':' + std::to_string(server_->port()) + "/stock"
        );
    }

    static txn::call some_call() {
        txn::call call;
        call.gid = {42, 1};
        call.branch = 1;
        call.attempt = 1;
        call.epoch = 1;
        call.participant = "stock";
        call.payload = "two apples";
        return call;
    }

    /// What becomes of a call by a client of its own: empty if it was done. What it throws stands
    /// in `text`.
    error_code call(txn::http_client_config how) {
        txn::http_participant there(world_.context.get_executor(), std::move(how));
        return call(there);
    }
    error_code call(txn::http_participant& there) {
        text_.clear();
        try {
            const auto got = world_.run(there.carry_out(some_call()));
            return got ? error_code() : got.error();
        } catch (const boost::system::system_error& why) {
            text_ = why.what();
            return why.code();
        }
    }

    /// What a configuration is refused by; empty if it is not.
    template <class Making>
    static std::string refusal(Making making) {
        try {
            making();
        } catch (const mortise::error& why) {
            EXPECT_EQ(why.code(), mortise::errc::bad_config) << why.what();
            return why.what();
        }
        return {};
    }

    bool says(const std::string& part) const { return text_.find(part) != std::string::npos; }

    std::shared_ptr<scripted_participant> stock_ = std::make_shared<scripted_participant>();
    server_thread thread_;
    std::optional<txn::participant_server> server_;
    db_world world_;
    std::string text_;
};

}  // namespace mortise::test

#endif
