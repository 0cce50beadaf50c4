// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_STORE_GATEWAY_WORLD_HPP
#define MORTISE_TESTS_UNIT_SQL_STORE_GATEWAY_WORLD_HPP

#include "mortise/coro/virtual_time.hpp"
#include "store/sql/statement_gateway.hpp"
#include "unit/sql_store/twin_place.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::test {

/// Sessions of a store at a real server by their gateways, and a context on which each of their
/// calls runs to its answer.
///
/// @par Threads One.
class gateway_world {
public:
    struct party {
        std::shared_ptr<store_detail::sql_gateway> gateway;
        session_start start;
        store_detail::sql_actor actor;
    };

    gateway_world() = default;
    ~gateway_world() {
        for (const auto& each : gateways_)
            each->close();
        context.restart();
        context.run();  // until the connections have ended
    }
    gateway_world(const gateway_world&) = delete;
    gateway_world& operator=(const gateway_world&) = delete;

    template <class R>
    R await(asio::awaitable<R> call) {
        std::optional<R> reply;
        asio::co_spawn(context, std::move(call), [&](const std::exception_ptr& thrown, R given) {
            EXPECT_FALSE(thrown);
            reply = std::move(given);
        });
        context.restart();
        while (!reply)
            context.run_one();
        return *reply;
    }

    /// A session that nobody has to prove again.
    party open(std::chrono::milliseconds ttl, store_detail::sql_gateway::push_function pushed) {
        party fresh;
        fresh.gateway = store_detail::make_statement_gateway(place->make_server());
        gateways_.push_back(fresh.gateway);
        fresh.gateway->start(context.get_executor(), time_, std::move(pushed), [] {});
        EXPECT_FALSE(await(fresh.gateway->connect()));
        fresh.start.id = random_id::draw();
        fresh.start.generation = 1;
        fresh.start.ttl = ttl;
        fresh.actor = {await(fresh.gateway->prove(fresh.start))->key, 1};
        return fresh;
    }

    asio::io_context context{1};
    const std::unique_ptr<twin_place> place = make_twin_place();

private:
    // Stands still: a server that a busy machine keeps from answering is waited for.
    const std::shared_ptr<coro::time_source> time_ =
        std::make_shared<coro::virtual_time>(context.get_executor());
    std::vector<std::shared_ptr<store_detail::sql_gateway>> gateways_;
};

}  // namespace mortise::test

#endif
