// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/control_server.hpp"
#include "mortise/txn/http/outcome_source.hpp"
#include "support/tls_material.hpp"
#include "unit/txn/coordinator_fixture.hpp"
#include "unit/txn/foreign_writer.hpp"
#include "unit/txn_http/raw_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::control_server_test {
namespace {

const std::string token = "correct-horse-battery";

class TxnControl : public coordinator_fixture {
protected:
    ~TxnControl() override {
        if (control_)
            control_->async_stop(asio::use_future).get();
        control_.reset();
    }

    static txn::control_server_config control_config() {
        txn::control_server_config config;
        config.token = token;
        config.settle_max = std::chrono::milliseconds(300);
        return config;
    }
    void begin() {
        open();
        control_.emplace(context_.get_executor(), control_config(), *tcc_);
    }

    std::string ask(const std::string& bytes) const {
        return raw_client(control_->port()).ask(bytes);
    }
    static std::string request(
        const std::string& line,
        const std::string& body = {},
        const std::string& login = "authorization: Bearer " + token + "\r\n"
    ) {
        return line + " HTTP/1.1\r\nhost: here\r\n" + login +
               "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    std::string get(const std::string& path) const { return ask(request("GET " + path)); }
    std::string post(const std::string& path, const std::string& body = {}) const {
        return ask(request("POST " + path, body));
    }
    static std::string status(const std::string& answer) {
        return answer.size() < 12 ? answer : answer.substr(9, 3);
    }
    static std::string body(const std::string& answer) {
        return answer.substr(std::min(answer.find("\r\n\r\n") + 4, answer.size()));
    }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }

    static std::string outcome_json(const txn::gid& gid, const std::string& outcome) {
        return "{\"gid\":\"" + gid.text() + "\",\"outcome\":\"" + outcome + "\"}\n";
    }

    result<txn::standing> settle(const std::shared_ptr<txn::outcome_source>& by, txn::gid gid) {
        return asio::co_spawn(context_, by->settle(gid), asio::use_future).get();
    }

    std::optional<txn::control_server> control_;
};

TEST_F(TxnControl, WithoutTheTokenNobodyLearnsAnything) {
    begin();
    EXPECT_TRUE(run(of_both()).confirmed());
    const std::string logins[] = {
        "",
        "authorization: Bearer \r\n",
        "authorization: Bearer " + token + "x\r\n",
        "authorization: Bearer " + token.substr(1) + "\r\n",
        "authorization: Bearer " + token + token + "\r\n",
        "authorization: Basic " + token + "\r\n",
        "authorization: " + token + "\r\n",
        "authorization: Bearer " + token + "\r\nauthorization: Bearer " + token + "\r\n",
    };
    for (const auto& each : logins) {
        for (const char* path : {"/txn", "/nowhere"}) {
            const auto got = ask(request(std::string("GET ") + path, "", each));
            EXPECT_EQ(status(got), "401") << each;
            EXPECT_TRUE(has(got, "access_denied")) << got;
            EXPECT_TRUE(has(got, "www-authenticate: Bearer\r\n")) << got;
        }
    }
    EXPECT_EQ(control_->stats().denied, 2 * std::size(logins));
    EXPECT_EQ(status(get("/txn")), "200");
}

TEST_F(TxnControl, ATokenThatIsEasyToGuessIsRefused) {
    open();
    for (const char* each :
         {"", "short", "with blanks in it, and long enough", "fifteen-letters"}) {
        auto how = control_config();
        how.token = each;
        const auto create = [&] { txn::control_server(context_.get_executor(), how, *tcc_); };
        EXPECT_EQ(code_of(create), errc::bad_config) << each;
    }
}

TEST_F(TxnControl, AnEmptyLogIsAnswerEnough) {
    foreign_writer writer(folder_.path() / "log.db");  // the coordinator cannot make its tables
    begin();
    const txn::gid any{7, 1};
    EXPECT_EQ(body(get("/txn/" + any.text() + "/outcome")), outcome_json(any, "never_existed"));
    EXPECT_EQ(status(get("/txn/" + any.text())), "404");
    const auto list = get("/txn?filter=all");
    EXPECT_EQ(status(list), "200");
    EXPECT_TRUE(has(list, "\"transactions\":[]")) << list;
    writer.run("ROLLBACK");
    EXPECT_TRUE(run(of_both()).confirmed());
}

TEST_F(TxnControl, SaysWhatBecameOfATransaction) {
    begin();
    const auto first = run(of_both());
    wallet_->answer_by(refusing(txn::operation::try_, "no money"));
    const auto second = run(of_both());
    const auto outcome = [&](const txn::gid& gid) {
        return get("/txn/" + gid.text() + "/outcome");
    };
    EXPECT_EQ(body(outcome(first.gid())), outcome_json(first.gid(), "confirmed"));
    EXPECT_EQ(body(outcome(second.gid())), outcome_json(second.gid(), "cancelled"));
    for (const txn::gid& none : {txn::gid{first.gid().log, 1'000}, txn::gid{1, 1}}) {
        EXPECT_EQ(body(outcome(none)), outcome_json(none, "never_existed"));
        EXPECT_EQ(status(get("/txn/" + none.text())), "404");
    }
    const auto shown = body(get("/txn/" + second.gid().text()));
    EXPECT_TRUE(has(shown, "\"text\":\"no money\"")) << shown;
    EXPECT_TRUE(has(shown, "\"participant\":\"wallet\"")) << shown;
    EXPECT_TRUE(
        has(get("/txn/" + first.gid().text() + "/outcome"), "content-type: application/json")
    );
}

TEST_F(TxnControl, ATransactionUnderWayIsActive) {
    begin();
    stock_->hold_tries(true);
    auto running = tcc_->async_run(of_both(), asio::use_future);
    ASSERT_TRUE(eventually([&] { return wallet_->calls().size() == 1; }));
    const auto gid = wallet_->calls()[0].gid;
    EXPECT_EQ(body(get("/txn/" + gid.text() + "/outcome")), outcome_json(gid, "active"));
    EXPECT_EQ(body(post("/txn/" + gid.text() + "/settle?wait_ms=10")), outcome_json(gid, "active"));
    EXPECT_TRUE(has(get("/txn?filter=unfinished"), gid.text()));
    stock_->hold_tries(false);
    EXPECT_TRUE(running.get().confirmed());
    EXPECT_EQ(body(post("/txn/" + gid.text() + "/settle")), outcome_json(gid, "confirmed"));
    EXPECT_FALSE(has(get("/txn?filter=unfinished"), gid.text()));
}

TEST_F(TxnControl, AStuckTransactionIsListedAndTriedAgain) {
    begin();
    stock_->answer_by(refusing(txn::operation::confirm, "\xff broken"));
    const auto gid = run(of_both()).gid();
    ASSERT_TRUE(eventually([&] { return tcc_->stats().stuck == 1; }));
    ASSERT_TRUE(eventually([&] { return has(get("/txn?filter=stuck&limit=10"), gid.text()); }));
    EXPECT_TRUE(has(get("/txn/" + gid.text()), "\\\\xff broken"));
    const auto path = "/txn/" + gid.text() + "/retry";
    EXPECT_EQ(status(post(path)), "400");
    EXPECT_EQ(status(post(path, R"({"branch":1,"who":"anna"})")), "400");
    EXPECT_EQ(status(post(path, R"({"branch":-1,"who":"anna","why":"x"})")), "400");
    EXPECT_EQ(status(post(path, R"({"branch":1.5,"who":"anna","why":"x"})")), "400");
    EXPECT_EQ(status(post(path, R"({"all":1,"who":"anna","why":"x"})")), "400");
    EXPECT_EQ(status(post(path, R"({"branch":2,"who":"anna","why":"x"})")), "409");
    stock_->answer_by({});
    const auto done = post(path, R"({"branch":1,"who":"anna","why":"repaired"})");
    EXPECT_EQ(body(done), outcome_json(gid, "confirmed"));
    EXPECT_TRUE(settled(gid).confirmed());
    const auto shown = get("/txn/" + gid.text());
    EXPECT_TRUE(has(shown, "\"who\":\"anna\"") && has(shown, "\"why\":\"repaired\"")) << shown;
    EXPECT_TRUE(has(shown, "\"state\":\"confirmed\"")) << shown;
    EXPECT_EQ(status(post(path, R"({"who":"anna","why":"again"})")), "409") << "it is over";
}

TEST_F(TxnControl, PagesFollowEachOther) {
    begin();
    const auto first = run(of_both()).gid();
    const auto second = run(of_both()).gid();
    const auto page = body(get("/txn?limit=1"));
    EXPECT_TRUE(has(page, first.text()) && !has(page, second.text())) << page;
    const auto after = std::to_string(first.number);
    EXPECT_TRUE(has(page, "\"next_after\":\"" + after + "\"")) << page;
    EXPECT_TRUE(has(get("/txn?filter=all&after=" + after), second.text()));
    EXPECT_FALSE(has(get("/txn?filter=all&after=" + after), first.text()));
}

TEST_F(TxnControl, WhatCannotBeAskedIsRefused) {
    begin();
    const auto gid = run(of_both()).gid().text();
    for (const std::string& path : std::initializer_list<std::string>{
             "/", "/txnn", "/txn/", "/txn/1", "/txn/" + gid + "/other", "/txn/" + gid + "/a/b"})
        EXPECT_EQ(status(get(path)), "404") << path;
    for (const char* query :
         {"filter=some", "limit=0", "limit=1001", "after=-1", "what=1", "limit"})
        EXPECT_EQ(status(get(std::string("/txn?") + query)), "400") << query;
    EXPECT_EQ(status(post("/txn")), "405");
    EXPECT_EQ(status(get("/txn/" + gid + "/settle")), "405");
    EXPECT_EQ(status(post("/txn/" + gid + "/settle?wait_ms=301")), "400");
    EXPECT_EQ(status(post("/txn/" + gid + "/settle?other=1")), "400");
}

TEST_F(TxnControl, SourcesOfOutcomesSayTheSame) {
    begin();
    const auto gid = run(of_both()).gid();
    const auto here = txn::make_outcome_source(*tcc_);
    const auto there = txn::make_outcome_source(
        context_.get_executor(), txn::http_client_config(control_->url()), token
    );
    for (const auto& each : {here, there}) {
        EXPECT_EQ(settle(each, gid).value(), txn::standing::confirmed);
        EXPECT_EQ(settle(each, {1, 1}).value(), txn::standing::never_existed);
    }
    const auto stranger = txn::make_outcome_source(
        context_.get_executor(), txn::http_client_config(control_->url()), "another-token"
    );
    EXPECT_EQ(settle(stranger, gid).error(), errc::access_denied);
    const auto elsewhere = txn::make_outcome_source(
        context_.get_executor(), txn::http_client_config(control_->url() + "/nowhere"), token
    );
    EXPECT_EQ(settle(elsewhere, gid).error(), txn::errc::call_failed);
}

TEST_F(TxnControl, SpeaksTlsAndReadsItsTokenFromAFile) {
    open();
    const auto file = folder_.path() / "token";
    std::ofstream(file) << token << '\n';
    txn::control_server_config how;
    how.token_file = file;
    how.listen.certificate_file = shared_tls().server().certificate;
    how.listen.key_file = shared_tls().server().key;
    control_.emplace(context_.get_executor(), how, *tcc_);
    EXPECT_EQ(control_->url().substr(0, 8), "https://");
    const auto gid = run(of_both()).gid();
    txn::http_client_config at("https://localhost:" + std::to_string(control_->port()));
    at.ca_file = shared_tls().authority();
    at.token_file = file;
    const auto there = txn::make_outcome_source(context_.get_executor(), at);
    EXPECT_EQ(settle(there, gid).value(), txn::standing::confirmed);
    EXPECT_EQ(settle(there, gid).value(), txn::standing::confirmed);
    EXPECT_EQ(control_->stats().connections, 1u);
    at.ca_file = shared_tls().stranger().certificate;
    const auto wary = txn::make_outcome_source(context_.get_executor(), at);
    EXPECT_EQ(settle(wary, gid).error(), errc::untrusted_server);
    EXPECT_EQ(control_->stats().denied, 0u);
    at.token_file.clear();
    const auto create = [&] { txn::make_outcome_source(context_.get_executor(), at); };
    EXPECT_EQ(code_of(create), errc::bad_config) << "nobody would answer it";
}

}  // namespace
}  // namespace mortise::test::control_server_test
