// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PROXIED_BROKER_HPP
#define MORTISE_TESTS_SUPPORT_PROXIED_BROKER_HPP

#include "support/kafka_broker.hpp"
#include "support/kafka_proxy.hpp"
#include "support/port_reservation.hpp"

#include <string>

namespace mortise::test {

/// A broker that names a proxy as its address to clients that come through the proxy.
class proxied_broker {
public:
    static proxied_broker& get() {
        static proxied_broker broker;
        return broker;
    }
    kafka_proxy& proxy() { return proxy_; }
    kafka_broker& broker() { return broker_; }

private:
    proxied_broker()
        : proxy_(inner_.port()),
          broker_(
              {"listeners=PLAINTEXT://127.0.0.1:@broker_port@,CONTROLLER://127.0.0.1:"
               "@controller_port@,PROXIED://127.0.0.1:" +
                   std::to_string(inner_.port()),
               "advertised.listeners=PLAINTEXT://127.0.0.1:@broker_port@,PROXIED://127.0.0.1:" +
                   std::to_string(proxy_.port()),
               "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
               "PROXIED:PLAINTEXT"}
          ) {}

    const port_reservation inner_;
    kafka_proxy proxy_;
    kafka_broker broker_;
};

}  // namespace mortise::test

#endif
