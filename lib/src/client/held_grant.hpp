// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_HELD_GRANT_HPP
#define MORTISE_CLIENT_HELD_GRANT_HPP

#include "client/session_watch.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/error.hpp"
#include "mortise/lease.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace mortise::detail {

class client_core;

/// A grant on its way from the client to the lease that stands for it, shared by both.
///
/// The lease asks and releases from its own thread; the client marks the loss on its strand.
class held_grant {
public:
    held_grant(
        grant at_store,
        std::shared_ptr<session_watch> session,
        std::weak_ptr<client_core> owner,
        asio::any_io_executor executor
    ) noexcept;

    const grant& at_store() const noexcept { return at_store_; }
    const session_watch& session() const noexcept { return *session_; }
    std::weak_ptr<client_core> owner() const noexcept { return owner_; }
    asio::any_io_executor executor() const noexcept { return executor_; }

    lease_state state() const noexcept;

    /// What `lease::check` says.
    error_code check() const noexcept;

    /// The user lets go. @return whether the grant was still there to be released, by this caller.
    bool take_for_release() noexcept;

    /// The store, or the client's end, took it. Tells who waits. @return whether this was news.
    bool lose(errc why);

    /// As `lose`, where nobody can be told any more.
    void lose_silently(errc why) noexcept;

    /// Tells who waits for the loss: that it is near, or that it will not come after a release.
    void end_waiting(error_code why);

    /// The caller has looked before whether it must wait at all.
    void wait_lost(lease_handler handler);

private:
    enum class phase : std::uint8_t { live, lost, released };

    const grant at_store_;
    const std::shared_ptr<session_watch> session_;
    const std::weak_ptr<client_core> owner_;
    const asio::any_io_executor executor_;
    std::atomic<phase> phase_ = phase::live;
    std::atomic<errc> why_ = errc::lease_lost;
    coro::detail::wait_list<> waiters_;
};

}  // namespace mortise::detail

#endif
