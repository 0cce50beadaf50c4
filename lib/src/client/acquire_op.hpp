// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_ACQUIRE_OP_HPP
#define MORTISE_CLIENT_ACQUIRE_OP_HPP

#include "client/deadline_list.hpp"
#include "core/acquire_fsm.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/lease.hpp"
#include "mortise/options.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mortise::detail {

class client_core;

/// One acquire under way: its state machine, its handler and its timers. Lives on the client's
/// strand.
class acquire_op : public std::enable_shared_from_this<acquire_op> {
public:
    using acquire_handler = coro::detail::completion<void(error_code, lease)>;
    using try_handler = coro::detail::completion<void(error_code, std::optional<lease>)>;
    using handler_type = std::variant<acquire_handler, try_handler>;

    acquire_op(
        std::weak_ptr<client_core> owner,
        std::string of,
        lock_options with,
        bool may_queue,
        handler_type then
    )
        : owner_(std::move(owner)),
          name(std::move(of)),
          options(with),
          queue(may_queue),
          handler(std::move(then)) {}

    asio::cancellation_slot slot() const noexcept;

    /// Posts the handler; for a try, `busy` is an empty success.
    void complete(error_code code, lease held);

    /// Called on the strand by the cancellation proxy.
    void on_cancel(asio::cancellation_type type);

private:
    std::weak_ptr<client_core> owner_;

public:
    const std::string name;
    const lock_options options;
    const bool queue;
    handler_type handler;  ///< Holds nothing once completed.
    core::acquire_fsm fsm;
    /// Of the present request; zero while there is none.
    request_id id = 0;
    std::uint64_t order = 0;       ///< The order of arrival at the client.
    clock::time_point undo_since;  ///< When the store was first asked to forget it.
    deadline_list::handle timer;   ///< `wait_max`, then the budget of the undoing.
    deadline_list::handle retry_timer;
    unsigned retries = 0;
};

}  // namespace mortise::detail

#endif
