// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_POST_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_POST_HPP

#include "mortise/lock_client.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/relay.hpp"
#include "order_server/databases.hpp"

#include <memory>

namespace order_server {

/// Brings orders to the shippers, and what they say to the shop and the wallets, from when it is
/// made. Of several servers each has a part of that: whoever holds the lock of a shard.
class post {
public:
    /// @param copies of each message that are handed over. Any post may repeat itself after a
    ///               crash; this one can be told to do it always.
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
