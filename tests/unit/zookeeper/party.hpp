// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_ZOOKEEPER_PARTY_HPP
#define MORTISE_TESTS_UNIT_ZOOKEEPER_PARTY_HPP

#include "mortise/lock_client.hpp"
#include "mortise/store/zookeeper.hpp"
#include "support/zookeeper_server.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A client in a context of its own, which the test runs or lets stand still.
class party {
public:
    party(
        const std::string& root,
        std::chrono::milliseconds ttl,
        zookeeper_form form = zookeeper_form::queue
    )
        : locks(
              context.get_executor(), make_zookeeper_store(store_config(root, form)), config(ttl)
          ) {}

    void ask() {
        locks.async_acquire("door", lock_options(), [this](error_code failed, lease got) {
            EXPECT_FALSE(failed) << failed.message() << locks.explain();
            held = std::move(got);
        });
    }
    bool holds() const { return held && held.held(); }

    boost::asio::io_context context;
    lock_client locks;
    lease held;

private:
    static zookeeper_store_config store_config(const std::string& root, zookeeper_form form) {
        const auto address = shared_zookeeper().address();
        zookeeper_store_config config;
        config.root = root;
        config.form = form;
        config.tick = std::chrono::milliseconds(100);
        const auto port = std::stoi(address.substr(address.find(':') + 1));
        config.servers = {{"127.0.0.1", static_cast<std::uint16_t>(port)}};
        return config;
    }
    static client_config config(std::chrono::milliseconds ttl) {
        client_config config;
        config.ttl = ttl;
        return config;
    }
};

/// Runs these parties in turns, until `done()`.
inline bool run(const std::vector<party*>& all, const std::function<bool()>& done) {
    const auto end = clock::now() + std::chrono::seconds(60);
    while (!done() && clock::now() < end) {
        bool ran = false;
        for (auto* const each : all) {
            each->context.restart();
            ran = each->context.poll_one() != 0 || ran;
        }
        if (!ran)
            all.front()->context.run_one_for(std::chrono::milliseconds(1));
    }
    return done();
}

}  // namespace mortise::test

#endif
