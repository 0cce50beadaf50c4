// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_STORE_STORE_USER_HPP
#define MORTISE_TESTS_UNIT_SQL_STORE_STORE_USER_HPP

#include "mortise/lock_client.hpp"
#include "mortise/store.hpp"
#include "support/machine_delay.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test {

/// A client with a context of its own, which runs when the test lets it: else it stands still, as
/// after SIGSTOP, and its connections stay open.
class store_user {
public:
    explicit store_user(
        std::unique_ptr<store> at, std::chrono::milliseconds ttl = std::chrono::seconds(5)
    ) {
        client_config settings;
        settings.ttl = ttl;
        locks.emplace(context.get_executor(), std::move(at), std::move(settings));
    }

    bool run_until(
        const std::function<bool()>& done,
        std::chrono::milliseconds limit = std::chrono::seconds(20)
    ) {
        const machine_delay delay;
        const auto end = clock::now() + limit;
        context.restart();
        while (!done() && (clock::now() < end || clock::now() < end + delay.so_far()))
            context.run_one_for(std::chrono::milliseconds(20));
        return done();
    }

    /// Runs what is ready, so that its session lives while another user waits.
    void poll() {
        context.restart();
        context.poll();
    }

    /// Acquires a lock. @return the code
    error_code acquire(const std::string& name, lease& into, lock_options options = {}) {
        std::optional<error_code> code;
        begin(name, into, code, options);
        EXPECT_TRUE(run_until([&] { return code.has_value(); })) << "no answer for " << name;
        return code.value_or(errc::outcome_unknown);
    }

    /// Begins to acquire a lock; both references must outlive the operation.
    void begin(
        const std::string& name,
        lease& into,
        std::optional<error_code>& code,
        lock_options options = {}
    ) {
        locks->async_acquire(name, options, [&](error_code failed, lease held) {
            code = failed;
            into = std::move(held);
        });
    }

    error_code release(lease& held) {
        std::optional<error_code> code;
        held.async_release([&](error_code failed) { code = failed; });
        EXPECT_TRUE(run_until([&] { return code.has_value(); }));
        return code.value_or(errc::outcome_unknown);
    }

    /// Ends the session.
    error_code stop() {
        std::optional<error_code> code;
        locks->async_stop([&](error_code failed) { code = failed; });
        EXPECT_TRUE(run_until([&] { return code.has_value(); }));
        return code.value_or(errc::outcome_unknown);
    }

    asio::io_context context{1};
    std::optional<lock_client> locks;
};

}  // namespace mortise::test

#endif
