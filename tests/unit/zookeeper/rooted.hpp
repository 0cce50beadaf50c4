// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_ZOOKEEPER_ROOTED_HPP
#define MORTISE_TESTS_UNIT_ZOOKEEPER_ROOTED_HPP

#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "support/zookeeper_server.hpp"
#include "support/zookeeper_tree.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A root of its own, and what lies below it.
class rooted {
public:
    explicit rooted(std::string name, std::string login = {})
        : root('/' + std::move(name)), tree(shared_zookeeper().address(), std::move(login)) {}

    std::string url(const std::string& login = {}, const std::string& options = {}) const {
        return "zookeeper://" + login + shared_zookeeper().address() + root + "?tick_ms=100" +
               options;
    }
    std::vector<std::string> queue_of(const std::string& lock) {
        return tree.children(root + "/locks/" + lock);
    }

    const std::string root;
    zookeeper_tree tree;
};

/// Runs a task with a client at `url`, until both have ended.
inline void with_client(
    const std::string& url,
    const std::function<asio::awaitable<void>(lock_client&)>& task,
    std::chrono::milliseconds ttl = std::chrono::seconds(2)
) {
    asio::io_context context;
    client_config config;
    config.ttl = ttl;
    lock_client locks(context.get_executor(), open_store(url), config);
    bool ended = false;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto running = task(locks);
            co_await std::move(running);
            co_await locks.async_stop();
        },
        [&](std::exception_ptr thrown) {
            ended = true;
            if (thrown)
                std::rethrow_exception(thrown);
        }
    );
    context.run_for(std::chrono::minutes(2));
    EXPECT_TRUE(ended) << locks.explain();
}

}  // namespace mortise::test

#endif
