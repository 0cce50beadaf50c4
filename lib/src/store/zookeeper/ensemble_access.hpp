// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_ENSEMBLE_ACCESS_HPP
#define MORTISE_STORE_ZOOKEEPER_ENSEMBLE_ACCESS_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/store/zookeeper.hpp"
#include "store/zookeeper/ensemble_facts.hpp"
#include "zookeeper/zk_session.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// How a store reaches its servers: those of an ensemble, or a model of them.
struct ensemble_access {
    /// Makes a session that is not opened yet.
    std::function<std::shared_ptr<zookeeper_detail::zk_session>(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        zookeeper_detail::zk_session::config how,
        zookeeper_detail::zk_session::listener to
    )>
        make_session;
    /// Asks one server what it is, within the limit.
    std::function<asio::awaitable<server_report>(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        zookeeper_address server,
        std::chrono::milliseconds limit
    )>
        probe;
};

/// Makes a ZooKeeper store that reaches its servers so.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_zookeeper_store(zookeeper_store_config config, ensemble_access servers);

}  // namespace mortise::store_detail

#endif
