// SPDX-License-Identifier: BSL-1.0
// Whom a client believes to be its server.
#include "support/machine_delay.hpp"
#include "support/redis_user.hpp"
#include "support/tls_material.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::test::redis_tls_test {
namespace {

using namespace std::chrono_literals;

redis_store_config trusting_at(std::uint16_t port, std::string host = "127.0.0.1") {
    redis_store_config config;
    config.server = {std::move(host), port};
    config.tls = true;
    config.ca_file = shared_tls().authority();
    config.connect_max = 1s;
    config.assume_new = true;
    return config;
}

acquired tried(redis_user& client) {
    const machine_delay delay;
    const auto begun = clock::now();
    auto got = client.acquire("door", 0ms);  // else an outage is waited out
    EXPECT_LT(clock::now() - begun, 4s + delay.so_far());
    return got;
}

TEST(RedisTls, AServerThatProvesItselfIsUsed) {
    const redis_server server(speaks_tls_as(shared_tls().server()));
    for (const char* host : {"127.0.0.1", "localhost"}) {
        redis_user client(trusting_at(server.tls_port(), host));
        const auto got = tried(client);
        EXPECT_FALSE(got.code) << host << ": " << client.explain();
    }
}

TEST(RedisTls, AServerThatWantsOurCertificateGetsIt) {
    auto settings = speaks_tls_as(shared_tls().server());
    settings.back() = "tls-auth-clients yes";
    const redis_server server(settings);
    auto config = trusting_at(server.tls_port());
    redis_user nobody(config);
    EXPECT_TRUE(tried(nobody).code);
    config.certificate_file = shared_tls().client().certificate;
    config.key_file = shared_tls().client().key;
    redis_user client(config);
    const auto got = tried(client);
    EXPECT_FALSE(got.code) << client.explain();
}

TEST(RedisTls, ACertificateOfAnotherNameIsNotTrusted) {
    const redis_server server(speaks_tls_as(shared_tls().elsewhere()));
    redis_user client(trusting_at(server.tls_port(), "localhost"));
    EXPECT_EQ(tried(client).code, errc::untrusted_server) << client.explain();
    EXPECT_NE(client.explain().find("name the host as its certificate does"), std::string::npos);
}

TEST(RedisTls, ACertificateMayHaveAnotherNameThatIsExpected) {
    const redis_server server(speaks_tls_as(shared_tls().elsewhere()));
    auto config = trusting_at(server.tls_port());
    config.tls_name = "elsewhere.example";
    redis_user client(config);
    const auto got = tried(client);
    EXPECT_FALSE(got.code) << client.explain();
}

TEST(RedisTls, ACertificateByAnUnknownAuthorityIsNotTrusted) {
    const redis_server server(speaks_tls_as(shared_tls().stranger()));
    redis_user client(trusting_at(server.tls_port()));
    EXPECT_EQ(tried(client).code, errc::untrusted_server) << client.explain();
}

TEST(RedisTls, TheSystemDoesNotKnowAnAuthorityThatIsNotNamed) {
    const redis_server server(speaks_tls_as(shared_tls().server()));
    auto config = trusting_at(server.tls_port());
    config.ca_file.clear();
    redis_user client(config);
    EXPECT_EQ(tried(client).code, errc::untrusted_server) << client.explain();
}

TEST(RedisTls, TheWrongKindOfPortEndsInTime) {
    const redis_server server(speaks_tls_as(shared_tls().server()));
    redis_user veiled(trusting_at(server.port()));
    EXPECT_TRUE(tried(veiled).code);
    auto config = trusting_at(server.tls_port());
    config.tls = false;
    redis_user bare(config);
    EXPECT_TRUE(tried(bare).code);
}

}  // namespace
}  // namespace mortise::test::redis_tls_test
