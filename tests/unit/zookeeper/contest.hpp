// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_ZOOKEEPER_CONTEST_HPP
#define MORTISE_TESTS_UNIT_ZOOKEEPER_CONTEST_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/store/zookeeper.hpp"
#include "support/eventually.hpp"
#include "support/run_on.hpp"
#include "support/without_throw.hpp"
#include "support/zookeeper_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise::test {

/// The three servers that all tests of this program share, all of which serve between tests.
inline zookeeper_ensemble& shared_ensemble() {
    static zookeeper_ensemble only(3);
    return only;
}

/// Clients of an ensemble that want one lock, on a thread of their own: the test's thread starts
/// and stops servers meanwhile. Each millisecond, and after each grant, the contest counts how many
/// leases say `held()`, and each token must be higher than the one before.
///
/// @par Threads The test's; `run` and `reaches` look at the clients on theirs.
class contest {
public:
    class contender {
    public:
        std::optional<lock_client> locks;
        lease held;
        std::uint64_t grants = 0;
        std::uint64_t token = 0;  ///< Of the newest grant.
        std::vector<error_code> refusals;
        std::optional<clock::time_point> lost_at;      ///< When the holder heard of it.
        std::optional<clock::time_point> valid_until;  ///< What the lease said then.
        clock::time_point granted_at;
    };

    contest(const zookeeper_ensemble& servers, std::chrono::milliseconds ttl)
        : servers_(servers), ttl_(ttl), root_(fresh_root()) {
        asio::co_spawn(context_, sample(), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }
    ~contest();
    contest(const contest&) = delete;
    contest& operator=(const contest&) = delete;

    const std::string& root() const noexcept { return root_; }

    /// Another client, which connects to these members only.
    contender& join(const std::vector<std::size_t>& members) {
        std::vector<std::uint16_t> ports;
        for (const auto each : members)
            ports.push_back(servers_.port(each));
        return join_at(ports);
    }
    /// Another client, which connects to these ports of 127.0.0.1: those of relays.
    contender& join_at(const std::vector<std::uint16_t>& ports);
    /// Ends a client without a word, as if its process were killed.
    void kill(contender& by) {
        run([&] { by.locks.reset(); });
    }
    /// Acquires the lock once and keeps it.
    void acquire(contender& by) { asio::co_spawn(context_, hold(by), asio::detached); }
    void release(contender& by) {
        run([&] { by.held.async_release([](error_code) {}); });
    }
    /// Acquires and releases it again and again, until `end_turns`.
    void take_turns(contender& by) { asio::co_spawn(context_, repeat(by), asio::detached); }
    void end_turns() {
        run([this] { turns_end_ = true; });
        EXPECT_TRUE(reaches([this] { return repeating_ == 0; }));
    }

    /// Calls `call` on the clients' thread. @return its result
    template <class Call>
    std::invoke_result_t<Call&> run(Call call) {
        return run_on(context_, std::move(call));
    }
    bool reaches(const std::function<bool()>& done) {
        return eventually([&] { return run(done); });
    }
    bool beats_more(contender& by, std::uint64_t count) {
        const auto wanted = run([&] { return by.locks->stats().heartbeats; }) + count;
        return reaches([&] { return by.locks->stats().heartbeats >= wanted; });
    }

    /// The most leases that said at one time that they were held.
    std::size_t holders_max() {
        return run([this] { return holders_max_; });
    }
    std::string explain() {
        return run([this] {
            std::string all;
            for (const auto& each : contenders_)
                all += each.locks ? each.locks->explain() + '\n' : "killed\n";
            return all;
        });
    }

private:
    static std::string fresh_root() {
        static int number = 0;
        return "/contest" + std::to_string(++number);
    }

    clock::time_point soon() const { return time_->now() + std::chrono::milliseconds(1); }

    void count_holders() {
        std::size_t holders = 0;
        for (const auto& each : contenders_)
            holders += each.held && each.held.held() ? 1U : 0U;
        holders_max_ = std::max(holders_max_, holders);
    }

    asio::awaitable<void> sample() {
        for (;;) {
            count_holders();
            auto pause = time_->async_wait_until(soon(), without_throw);
            co_await std::move(pause);
        }
    }

    // @return whether the contender has the lock.
    asio::awaitable<bool> get(contender& by) {
        auto asking = by.locks->async_acquire("door", lock_options(), without_throw);
        auto got = co_await std::move(asking);
        if (std::get<0>(got)) {
            by.refusals.push_back(std::get<0>(got));
            co_return false;
        }
        by.held = std::move(std::get<1>(got));
        by.granted_at = clock::now();
        by.token = by.held.token().value;
        ++by.grants;
        EXPECT_GT(by.token, highest_) << "tokens grow";
        highest_ = std::max(highest_, by.token);
        count_holders();
        co_return true;
    }

    asio::awaitable<void> hold(contender& by) {
        auto getting = get(by);
        if (!co_await std::move(getting))
            co_return;
        auto waiting = by.held.async_wait_lost(without_throw);
        const auto loss = co_await std::move(waiting);
        if (std::get<0>(loss) == errc::lease_released)
            co_return;
        by.lost_at = clock::now();
        by.valid_until = by.held.valid_until();
    }

    asio::awaitable<void> repeat(contender& by) {
        ++repeating_;
        while (!turns_end_) {
            auto getting = get(by);
            const bool has = co_await std::move(getting);
            auto pause = time_->async_wait_until(soon(), without_throw);
            co_await std::move(pause);
            if (!has)
                continue;
            auto releasing = by.held.async_release(without_throw);
            co_await std::move(releasing);
        }
        --repeating_;
    }

    const zookeeper_ensemble& servers_;
    const std::chrono::milliseconds ttl_;
    const std::string root_;
    asio::io_context context_{1};
    const std::shared_ptr<coro::time_source> time_ =
        coro::make_boot_time_source(context_.get_executor());
    std::deque<contender> contenders_;
    std::size_t holders_max_ = 0;
    std::uint64_t highest_ = 0;
    int repeating_ = 0;
    bool turns_end_ = false;
    std::thread thread_;
};

inline contest::contender& contest::join_at(const std::vector<std::uint16_t>& ports) {
    zookeeper_store_config config;
    config.root = root_;
    config.tick = std::chrono::milliseconds(100);
    config.servers.clear();
    for (const auto each : ports)
        config.servers.emplace_back("127.0.0.1", each);
    return *run([&] {
        client_config settings;
        settings.ttl = ttl_;
        auto& fresh = contenders_.emplace_back();
        fresh.locks.emplace(
            context_.get_executor(), make_zookeeper_store(std::move(config)), std::move(settings)
        );
        return &fresh;
    });
}

inline contest::~contest() {
    context_.stop();
    thread_.join();
    for (auto& each : contenders_)
        each.held = lease();
}

}  // namespace mortise::test

#endif
