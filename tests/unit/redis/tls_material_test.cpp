// SPDX-License-Identifier: BSL-1.0
#include "support/child_program.hpp"
#include "support/tls_material.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::test::tls_material_test {

/// Whether openssl connects to a server's TLS port and trusts it as `name`.
bool trusted(
    const redis_server& server, const std::vector<std::string>& name, bool as_client = false
) {
    std::vector<std::string> command = {
        openssl_command(),
        "s_client",
        "-connect",
        "127.0.0.1:" + std::to_string(server.tls_port()),
        "-CAfile",
        shared_tls().authority().string(),
        "-no-CApath",
        "-verify_return_error",
        "-brief",
    };
    command.insert(command.end(), name.begin(), name.end());
    if (as_client) {
        const tls_material::identity& client = shared_tls().client();
        for (const std::string& word :
             {std::string("-cert"),
              client.certificate.string(),
              std::string("-key"),
              client.key.string()})
            command.push_back(word);
    }
    const scratch_folder folder;
    const auto code = child_program(command, folder.path() / "said").wait();
    return code == 0;
}

const std::vector<std::string> as_localhost = {"-verify_hostname", "localhost"};
const std::vector<std::string> as_address = {"-verify_ip", "127.0.0.1"};

TEST(TlsMaterial, ProvesWhoTheServerIs) {
    const redis_server server(speaks_tls_as(shared_tls().server()));
    EXPECT_TRUE(trusted(server, as_localhost));
    EXPECT_TRUE(trusted(server, as_address));
    EXPECT_FALSE(trusted(server, {"-verify_hostname", "elsewhere.example"}));
    EXPECT_TRUE(server.connect().command({"PING"}).is("PONG")) << "and it speaks without TLS";
}

TEST(TlsMaterial, HasAServerWithAnotherName) {
    const redis_server server(speaks_tls_as(shared_tls().elsewhere()));
    EXPECT_TRUE(trusted(server, {"-verify_hostname", "elsewhere.example"}));
    EXPECT_FALSE(trusted(server, as_localhost));
    EXPECT_FALSE(trusted(server, as_address));
}

TEST(TlsMaterial, HasAServerThatTheAuthorityDoesNotKnow) {
    const redis_server server(speaks_tls_as(shared_tls().stranger()));
    EXPECT_FALSE(trusted(server, as_localhost));
}

TEST(TlsMaterial, LetsAServerAskForAClientsCertificate) {
    redis_server::settings settings = speaks_tls_as(shared_tls().server());
    settings.back() = "tls-auth-clients yes";
    const redis_server server(settings);
    // In TLS 1.3 the client is done before the server has judged it.
    EXPECT_TRUE(trusted(server, {"-tls1_2"}, true));
    EXPECT_FALSE(trusted(server, {"-tls1_2"}, false));
}

}  // namespace mortise::test::tls_material_test
