// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TOOLS_TOOL_WORLD_HPP
#define MORTISE_TESTS_UNIT_TOOLS_TOOL_WORLD_HPP

#include "common/failure.hpp"
#include "common/settings.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test {

/// Commands in virtual time, on a store in memory.
class tool_world : public client_world {
public:
    tool_world() { global.store = "memory:test"; }

    /// A client with this label.
    lock_client labelled(const std::string& label, client_config config) {
        config.label = label;
        return lock_client(context.get_executor(), server.make_store(), std::move(config));
    }
    lock_client labelled(const std::string& label) { return labelled(label, config()); }

    /// Acquires with these options, and expects that it succeeds.
    lease acquire_as(lock_client& locks, const std::string& name, const lock_options& options) {
        acquire_outcome outcome;
        locks.async_acquire(name, options, record(outcome));
        EXPECT_TRUE(run_until([&] { return outcome.done; }));
        EXPECT_FALSE(outcome.code) << outcome.code.message();
        return std::move(outcome.held);
    }

    /// Runs a command to its end. @return its exit code. @throws what it throws.
    int run(asio::awaitable<int> command) {
        bool done = false;
        int code = -1;
        std::exception_ptr failed;
        asio::co_spawn(
            context,
            std::move(command),
            [&](const std::exception_ptr& thrown, int result) {
                done = true;
                failed = thrown;
                code = result;
            }
        );
        EXPECT_TRUE(run_until([&] { return done; }));
        if (failed)
            std::rethrow_exception(failed);
        return code;
    }

    /// Runs a command that fails. @return how.
    tool::failure run_to_failure(asio::awaitable<int> command) {
        try {
            run(std::move(command));
        } catch (const tool::failure& how) {
            return how;
        }
        throw std::logic_error("the command does not fail");
    }

    tool::global_settings global;
};

}  // namespace mortise::test

#endif
