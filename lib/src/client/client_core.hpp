// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_CORE_HPP
#define MORTISE_CLIENT_CLIENT_CORE_HPP

#include "client/client_context.hpp"
#include "client/client_session.hpp"
#include "client/local_locks.hpp"
#include "client/questions.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/options.hpp"
#include "mortise/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mortise::detail {

/// The parts of a `lock_client`, and the order in which they end.
///
/// | part | owns |
/// | --- | --- |
/// | `locals` | the waiters and holders in this process, in the lock table |
/// | `sessions` | the sessions at the store, each with its claims, their releases, its looks |
/// | `questions` | those who wait for a change of any lock; asks the store for users |
///
/// An acquire that the lock table cannot settle by itself becomes a claim: a request, then a grant,
/// handled on the strand. Parts call each other through this object, which keeps all of them alive
/// until the last call of the store has returned; `close` cuts them off from user and store before.
///
/// @par Threads The strand, except for the members marked "Any thread".
class client_core final : public std::enable_shared_from_this<client_core>,
                          public coro::detail::shutdown_hook,
                          private store_events {
public:
    client_core(asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config);
    ~client_core() override;

    /// Call once, after construction: it needs `shared_from_this`.
    void attach();

    // Any thread.
    std::string explain() const;
    void stop(lease_handler handler);
    void close() noexcept;

    /// Waits for the earliest moment at which something is due. Call after deadlines have changed.
    void arm();

    client_context context;
    local_locks locals;
    client_sessions sessions;
    detail::questions questions;

private:
    void on_store_event(const store_event& event) noexcept override;
    void shut_down() noexcept override;
    void on_alarm();
    void grant_no_more();
    void close_now();
    asio::awaitable<void> run_stop(std::shared_ptr<const void> kept, lease_handler handler);

    std::vector<lease_handler> stoppers_;  ///< Waiting for the end of the stop.
};

}  // namespace mortise::detail

#endif
