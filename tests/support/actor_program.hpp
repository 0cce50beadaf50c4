// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_ACTOR_PROGRAM_HPP
#define MORTISE_TESTS_SUPPORT_ACTOR_PROGRAM_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The common parts of the programs that tests start, and kill.
namespace mortise::test {

using actor_words = std::vector<std::string>;
using actor_settings = std::map<std::string, std::string>;

/// Reads the words from the third on, each NAME=VALUE.
inline actor_settings settings_among(const actor_words& words) {
    actor_settings given;
    for (std::size_t i = 2; i < words.size(); ++i) {
        const auto at = words[i].find('=');
        if (at == std::string::npos)
            throw std::runtime_error(words[i] + " is nothing");
        given[words[i].substr(0, at)] = words[i].substr(at + 1);
    }
    return given;
}

/// Runs the context until the task is over. @return the exit code
inline int run_to_end_of(boost::asio::io_context& context, boost::asio::awaitable<void> task) {
    int code = 0;
    boost::asio::co_spawn(context, std::move(task), [&](const std::exception_ptr& failed) {
        try {
            if (failed)
                std::rethrow_exception(failed);
        } catch (const std::exception& why) {
            std::printf("failed: %s\n", why.what());
            code = 1;
        }
        context.stop();
    });
    context.run();
    return code;
}

inline int actor_main(int argc, char** argv, int (*run)(const actor_words&)) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& failed) {
        std::printf("failed: %s\n", failed.what());
        return 1;
    }
}

}  // namespace mortise::test

#endif
