// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_ZOOKEEPER_RELAYED_HARNESS_HPP
#define MORTISE_TESTS_UNIT_ZOOKEEPER_RELAYED_HARNESS_HPP

#include "conformance/zookeeper_harness.hpp"
#include "support/tcp_relay.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace mortise::test {

/// A harness whose stores connect by a relay, or by another one if that does not take them.
class relayed_harness : public zookeeper_harness {
public:
    using zookeeper_harness::zookeeper_harness;
    using zookeeper_harness::root;
    using zookeeper_harness::tree;

    std::unique_ptr<store> make_store() override {
        return relays ? make_store_at(way.port(), detour.port())
                      : make_store_at(shared_zookeeper().port());
    }

    std::size_t nodes_of(const std::string& lock) {
        return tree().children(root() + "/locks/" + lock).size();
    }

    bool relays = true;  ///< Else new stores connect to the server itself.
    tcp_relay way{executor(), shared_zookeeper().port()};
    tcp_relay detour{executor(), shared_zookeeper().port()};
};

}  // namespace mortise::test

#endif
