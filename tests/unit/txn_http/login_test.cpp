// SPDX-License-Identifier: BSL-1.0
// Who may call a participant server.
#include "mortise/txn/error.hpp"
#include "support/scratch_folder.hpp"
#include "unit/txn_http/login_fixture.hpp"
#include "unit/txn_http/raw_client.hpp"
#include "unit/txn_http/scripted_server.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::login_test {
namespace {

const std::string secret = "correct-horse-battery";
const std::string other_secret = "a-staple-of-sixteen";

class TxnHttpLogin : public login_fixture {
protected:
    static txn::participant_server_config known(std::vector<txn::http_caller> callers) {
        txn::participant_server_config config;
        config.access.callers = std::move(callers);
        return config;
    }
    txn::http_client_config showing(const std::string& token) const {
        auto config = by("http://127.0.0.1");
        config.token = token;
        return config;
    }
    static std::filesystem::path file_with(const scratch_folder& in, const std::string& content) {
        const auto path = in.path() / "token";
        std::ofstream(path) << content;
        return path;
    }
};

TEST_F(TxnHttpLogin, WithoutATokenNoParticipantIsCalled) {
    open(known({{"shop", secret}}));
    const std::string logins[] = {
        "",
        "authorization: Bearer \r\n",
        "authorization: Bearer\r\n",
        "authorization: Bearer " + secret + "x\r\n",
        "authorization: Bearer " + secret.substr(1) + "\r\n",
        "authorization: Bearer " + secret + secret + "\r\n",
        "authorization: Bearer " + other_secret + "\r\n",
        "authorization: Basic " + secret + "\r\n",
        "authorization: " + secret + "\r\n",
        "authorization: Bearer " + secret + "\r\nauthorization: Bearer " + secret + "\r\n",
    };
    std::uint64_t asked = 0;
    for (const auto& each : logins) {
        for (const char* path : {"/stock/try", "/stock/confirm", "/other/try", "/"}) {
            const auto got = raw_client(port()).ask(
                std::string("POST ") + path + " HTTP/1.1\r\n" + each + "content-length: 0\r\n\r\n"
            );
            EXPECT_EQ(got.substr(9, 3), "401") << each << got;
            EXPECT_NE(got.find("www-authenticate: Bearer\r\n"), std::string::npos) << got;
            EXPECT_EQ(got.find("mortise-"), std::string::npos) << "it is no answer to a call";
            EXPECT_EQ(server_->stats().denied, ++asked);
        }
    }
    EXPECT_TRUE(stock_->calls().empty());
    EXPECT_EQ(call(showing(secret)), error_code());
    EXPECT_EQ(server_->stats().denied, asked);
}

TEST_F(TxnHttpLogin, ACallerWithAnotherTokenIsDenied) {
    open(known({{"shop", secret}}));
    EXPECT_EQ(call(showing(other_secret)), errc::access_denied);
    EXPECT_EQ(call(by("http://127.0.0.1")), errc::access_denied);
    EXPECT_TRUE(stock_->calls().empty());
    EXPECT_EQ(server_->stats().denied, 2u);
}

TEST_F(TxnHttpLogin, EachCoordinatorHasATokenAndMayExchangeIt) {
    const std::string third = "the-next-token-of-shop";
    open(known({{"shop", secret}, {"bank", other_secret}, {"shop", third}}));
    for (const auto& each : {secret, other_secret, third})
        EXPECT_EQ(call(showing(each)), error_code()) << each;
    EXPECT_EQ(stock_->calls().size(), 3u);
}

TEST_F(TxnHttpLogin, ATokenCanStandInAFile) {
    const scratch_folder folder;
    txn::http_caller shop;
    shop.name = "shop";
    shop.token_file = file_with(folder, secret + "\n");
    open(known({shop}));
    EXPECT_EQ(call(showing(secret)), error_code());
    auto how = by("http://127.0.0.1");
    how.token_file = shop.token_file;
    EXPECT_EQ(call(how), error_code());
}

TEST_F(TxnHttpLogin, NoErrorShowsAToken) {
    const scratch_folder folder;
    const std::string bad = "a secret\twith-blanks";
    txn::http_caller of_file;
    of_file.name = "shop";
    of_file.token_file = file_with(folder, bad);
    txn::http_caller twice("shop", secret);
    twice.token_file = of_file.token_file;
    txn::http_caller nowhere;
    nowhere.name = "shop";
    nowhere.token_file = folder.path() / "nothing";
    const std::vector<txn::http_caller> wrong = {
        {"shop", bad},
        {"shop", secret.substr(0, 15)},
        {"shop", std::string(1'025, 's')},
        {"shop", ""},
        of_file,
        twice,
        nowhere,
    };
    for (const auto& each : wrong) {
        const auto text = refusal([&] { open(known({{"bank", other_secret}, each})); });
        const bool named = text.find("shop") != std::string::npos ||
                           text.find(nowhere.token_file.string()) != std::string::npos;
        EXPECT_TRUE(named) << text;
        for (const auto& shown : {bad, secret.substr(0, 15), other_secret, std::string("sssss")})
            EXPECT_EQ(text.find(shown), std::string::npos) << text;
    }
    txn::http_client_config client("http://localhost");
    client.token = bad;
    const auto text =
        refusal([&] { txn::http_participant participant(world_.context.get_executor(), client); });
    EXPECT_NE(text.find("token"), std::string::npos);
    EXPECT_EQ(text.find(bad), std::string::npos) << text;
}

TEST_F(TxnHttpLogin, AFailureThatRepeatsTheTokenIsShownWithoutIt) {
    const std::string body = "no: Authorization: Bearer " + secret + " X-Key: key-of-sec";
    scripted_server server(
        {{{scripted_server::answer("500 Internal Server Error", "mortise-call: $CALL\r\n", body)}}}
    );
    txn::http_client_config how(server.url());
    how.token = secret;
    how.headers.emplace_back("x-key", "key-of-sec");
    EXPECT_EQ(call(how), txn::errc::call_failed);
    EXPECT_TRUE(says("no: Authorization: Bearer *** X-Key: ***")) << text_;
}

TEST_F(TxnHttpLogin, AServerForOtherHostsIsRefusedWithoutOne) {
    for (const char* address : {"0.0.0.0", "::"}) {
        txn::participant_server_config how;
        how.listen.address = address;
        const auto text = refusal([&] { open(how); });
        EXPECT_NE(text.find(address), std::string::npos) << text;
        for (const char* remedy : {"callers", "client_ca_file", "allow_anyone"})
            EXPECT_NE(text.find(remedy), std::string::npos) << text;
        how.access.allow_anyone = true;
        how.access.callers.emplace_back("shop", secret);
        EXPECT_NE(refusal([&] { open(how); }), "") << "it says two things";
    }
}

TEST_F(TxnHttpLogin, AServerForOtherHostsHasATokenOrThePermissionToHaveNone) {
    txn::participant_server_config how;
    how.listen.address = "0.0.0.0";
    how.access.callers.emplace_back("shop", secret);
    open(how);
    EXPECT_EQ(call(by("http://127.0.0.1")), errc::access_denied);
    EXPECT_EQ(call(showing(secret)), error_code());
    server_.reset();
    how.access.callers.clear();
    how.access.allow_anyone = true;
    open(how);
    EXPECT_EQ(call(by("http://127.0.0.1")), error_code());
}

TEST_F(TxnHttpLogin, OnThisHostItCanBeLeftOut) {
    for (const char* address : {"127.0.0.1", "127.0.0.2"}) {
        txn::participant_server_config how;
        how.listen.address = address;
        open(how);
        EXPECT_EQ(call(by(std::string("http://") + address)), error_code());
    }
}

}  // namespace
}  // namespace mortise::test::login_test
