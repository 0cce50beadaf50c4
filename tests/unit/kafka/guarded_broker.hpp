// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_KAFKA_GUARDED_BROKER_HPP
#define MORTISE_TESTS_UNIT_KAFKA_GUARDED_BROKER_HPP

#include "support/kafka_broker.hpp"
#include "support/raw_kafka.hpp"

#include <string>

namespace mortise::test {

/// The login of "alice" at the guarded broker.
inline constexpr const char* alices_password = "alice-tells-nobody";

inline raw_kafka_settings login(const std::string& user, const std::string& password) {
    return {
        {"security.protocol", "sasl_plaintext"},
        {"sasl.mechanism", "PLAIN"},
        {"sasl.username", user},
        {"sasl.password", password}};
}

/// One for all tests of this program: it asks for a login, and lets nobody do what was not allowed,
/// where anything was said of a resource at all.
inline kafka_broker& guarded_broker() {
    static kafka_broker broker(
        {
            "listeners=SASL_PLAINTEXT://127.0.0.1:@broker_port@,"
            "CONTROLLER://127.0.0.1:@controller_port@",
            "advertised.listeners=SASL_PLAINTEXT://127.0.0.1:@broker_port@",
            "listener.security.protocol.map="
            "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            "inter.broker.listener.name=SASL_PLAINTEXT",
            "sasl.enabled.mechanisms=PLAIN",
            "sasl.mechanism.inter.broker.protocol=PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config="
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            "username=\"admin\" password=\"admin\" user_admin=\"admin\" user_alice=\"" +
                std::string(alices_password) + "\";",
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:admin;User:ANONYMOUS",
            "allow.everyone.if.no.acl.found=true",
        },
        login("admin", "admin")
    );
    return broker;
}

}  // namespace mortise::test

#endif
