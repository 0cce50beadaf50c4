// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_CALLER_HOLD_HPP
#define MORTISE_DB_CALLER_HOLD_HPP

#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/db/detail/transaction_body.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace mortise::db::detail {

/// All that a session holds of a caller's context, which may end before the session: handlers, the
/// closure, the executor.
///
/// The session works on its strand, and the context may end on another thread. So exactly one of
/// the two takes each share, under a mutex, and the session posts to the context only under it: the
/// end of the context waits for that.
///
/// @par Threads Any, for all members.
class caller_hold final : public coro::detail::shutdown_hook,
                          public std::enable_shared_from_this<caller_hold> {
public:
    explicit caller_hold(asio::any_io_executor executor) : executor_(std::move(executor)) {}
    ~caller_hold() override;

    /// Registers for the end of the context; `ended` is called then, when the shares are gone. Call
    /// it once. @return false if the context is ending already
    bool attach(std::function<void()> ended);

    /// Adds a share. @return false if the context is ending: the share is the caller's to drop
    bool add(std::shared_ptr<caller_share> share);
    /// Takes a share off and calls `deliver(share)`, unless the context has taken it.
    template <class Share, class Deliver>
    void settle(const std::weak_ptr<Share>& share, Deliver deliver) {
        std::lock_guard hold(mutex_);
        const auto taken = share.lock();
        if (taken && shares_.erase(taken) > 0)
            deliver(*taken);
    }
    /// Posts to the caller, unless its context is ending.
    template <class Function>
    void post(Function function) {
        std::lock_guard hold(mutex_);
        if (executor_)
            asio::post(*executor_, std::move(function));
    }

    /// Lets go of all shares without a call: the context of the session ends.
    void let_go() noexcept;
    /// Lets go of the context, when the caller has its answer.
    void leave() noexcept;

private:
    using shares = std::set<std::shared_ptr<caller_share>>;

    void shut_down() noexcept override;

    std::recursive_mutex mutex_;                     ///< A closure that is destroyed may come back.
    std::optional<asio::any_io_executor> executor_;  ///< None once the context is ending.
    shares shares_;
    std::function<void()> ended_;
};

}  // namespace mortise::db::detail

#endif
