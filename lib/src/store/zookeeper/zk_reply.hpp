// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_ZK_REPLY_HPP
#define MORTISE_STORE_ZOOKEEPER_ZK_REPLY_HPP

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "zookeeper/zk_handle.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <utility>

namespace mortise::store_detail {

/// The answer to an operation that is under way: several are sent before the first is awaited.
///
/// @par Threads The strand.
class zk_reply : public std::enable_shared_from_this<zk_reply> {
public:
    explicit zk_reply(const asio::any_io_executor& strand) : come_(strand) {}

    void come(zookeeper_detail::zk_answer answer) {
        answer_ = std::move(answer);
        come_.set();
    }

    /// Awaits the answer. Once.
    asio::awaitable<zookeeper_detail::zk_answer> take() {
        const auto kept = shared_from_this();
        if (!come_.is_set()) {
            auto waiting = come_.async_wait(coro::detail::with_code);
            co_await std::move(waiting);
        }
        co_return std::move(answer_);
    }

private:
    coro::event come_;
    zookeeper_detail::zk_answer answer_;
};

using zk_reply_ptr = std::shared_ptr<zk_reply>;

}  // namespace mortise::store_detail

#endif
