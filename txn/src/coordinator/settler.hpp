// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_SETTLER_HPP
#define MORTISE_TXN_COORDINATOR_SETTLER_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/txn/outcome.hpp"

#include <boost/asio/cancellation_type.hpp>

#include <memory>
#include <utility>

namespace mortise::txn::detail {

class coordinator_core;

/// A waiter for the end of a transaction, until that end or its own cancellation. Used on the
/// coordinator's strand only.
class settler {
public:
    using handler_type = coro::detail::completion<void(error_code, outcome)>;

    settler(std::weak_ptr<coordinator_core> core, const txn::gid& transaction, handler_type handler)
        : gid(transaction), core_(std::move(core)), handler_(std::move(handler)) {}

    /// Whether it has not been answered yet.
    bool waits() const noexcept { return static_cast<bool>(handler_); }

    void answer(error_code failed, const outcome& decision) {
        if (waits())
            handler_.complete(failed, decision);
    }

    void on_cancel(asio::cancellation_type_t type);

    const txn::gid gid;

private:
    const std::weak_ptr<coordinator_core> core_;
    handler_type handler_;
};

using settler_ptr = std::shared_ptr<settler>;

}  // namespace mortise::txn::detail

#endif
