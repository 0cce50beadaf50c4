// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_CHANGE_FEED_HPP
#define MORTISE_TOOLS_CHANGE_FEED_HPP

#include "mortise/lock_client.hpp"
#include "mortise/lock_observer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

namespace mortise::tool {

/// Tells when a store is worth another look. For each look: `begin`, look, `next`; so a change that
/// comes while one looks is seen by the next look.
///
/// It has to hear of its client's sessions, too: before the first is open the store knows nothing
/// of the wait, and nobody tells of what changed between one session and the next.
///
/// @par Threads   One at a time, and the client's context has one thread.
/// @par Lifetimes Make it before its client, and name it in `client_config::observer`.
class change_feed final : public lock_observer {
public:
    explicit change_feed(asio::any_io_executor executor);
    ~change_feed();

    /// Forgets the changes so far and begins to wait for the next one.
    void begin(lock_client& locks);

    /// Until something changed after the last `begin`, or may have.
    /// @throws system_error with what `lock_client::async_watch` says, or `operation_aborted`.
    asio::awaitable<void> next();

    /// As if something had changed.
    void poke();

    void on_event(const lock_event& event) noexcept override;

private:
    struct state;

    std::shared_ptr<state> state_;
};

}  // namespace mortise::tool

#endif
