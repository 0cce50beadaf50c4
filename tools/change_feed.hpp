// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_CHANGE_FEED_HPP
#define MORTISE_TOOLS_CHANGE_FEED_HPP

#include "mortise/lock_client.hpp"
#include "mortise/lock_observer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

namespace mortise::tool {

/// Tells when to look at a store again. For each look call `begin`, look, then `next`: a change
/// during a look is then seen by the next look.
///
/// The feed also observes its client's sessions. Before the first session is open the store does
/// not know of the watch. Between two sessions nobody reports a change.
///
/// @par Threads   One at a time; the client's context must have one thread.
/// @par Lifetimes Create the feed before its client, and name it in `client_config::observer`.
class change_feed final : public lock_observer {
public:
    explicit change_feed(asio::any_io_executor executor);
    ~change_feed();

    /// Forgets the changes so far and begins to wait for the next one.
    void begin(lock_client& locks);

    /// Waits until something changed, or may have changed, since the last `begin`.
    /// @throws system_error with the code of `lock_client::async_watch`, or `operation_aborted`.
    asio::awaitable<void> next();

    /// Wakes `next` as if something had changed.
    void poke();

    void on_event(const lock_event& event) noexcept override;

private:
    struct state;

    std::shared_ptr<state> state_;
};

}  // namespace mortise::tool

#endif
