// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_POST_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_POST_HPP

#include "mortise/lock_client.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/relay.hpp"
#include "order_server/databases.hpp"

#include <memory>

namespace order_server {

/// Carries orders to the shippers, and their reports to the shop and the wallets, as long as it
/// lives. With several servers, each carries the shards whose locks it holds.
class post {
public:
    /// @param copies how often each message is handed over. A post may repeat a message after a
    /// crash; for a test it can always do so.
    post(const databases& between, const std::shared_ptr<mortise::lock_client>& locks, int copies);

    asio::awaitable<void> stop();

private:
    using inbox_ptr = std::shared_ptr<mortise::outbox::inbox>;

    const inbox_ptr at_shippers_;
    const inbox_ptr at_shop_;
    const inbox_ptr at_wallets_;
    mortise::outbox::relay from_shop_;
    mortise::outbox::relay from_shippers_;
};

}  // namespace order_server

#endif
