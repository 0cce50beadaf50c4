// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_RELEASES_HPP
#define MORTISE_CLIENT_RELEASES_HPP

#include "client/claim.hpp"
#include "client/claims.hpp"
#include "client/client_context.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace mortise::detail {

/// The grants on their way back to the store: each release is repeated until the store has
/// acknowledged it, or the session is gone.
///
/// Who waits for a release is told when its budget (`client_config::release_budget`) is used up. If
/// a release fails for a TTL longer than that, the session is given up: alive, it would keep the
/// lock for ever.
///
/// @par Threads The strand.
class releases final : session_part {
public:
    using releases_by_id = std::map<request_id, std::shared_ptr<release_op>>;

    releases(client_session& own, client_core& core, client_context& context) noexcept
        : session_part(own, core, context) {}

    using claim_ptr = std::shared_ptr<claim>;

    /// @return the release under way; null if the grant is gone already.
    std::shared_ptr<release_op> start(const claim_ptr& released);
    /// Starts the release of a grant, and `next`, a claim of the same session for the same lock: in
    /// one call of the store.
    void start_with(const claim_ptr& released, const claim_ptr& next);
    /// Withdraws an entry at the store that no claim here owns. If that fails, the next look finds
    /// it again.
    void withdraw_orphan(std::string name, request_id id);
    /// The session is gone: its grants are not held at the store any longer.
    void session_lost(errc why);

    /// By the id of the request that was granted.
    const releases_by_id& under_way() const noexcept { return under_way_; }
    releases_by_id take_all() noexcept { return std::exchange(under_way_, {}); }
    /// Tells whoever waits for the release. Does nothing the second time.
    static void complete(release_op& op, error_code result);

private:
    void end(const std::shared_ptr<release_op>& op, error_code result);
    void complete_lost(release_op& op, error_code why);
    void answered(const std::shared_ptr<release_op>& op, std::uint64_t epoch, result<bool> reply);
    void try_later(const std::shared_ptr<release_op>& op);
    void tell_failed(release_op& op, error_code why) const noexcept;
    asio::awaitable<void>
    run_release(std::shared_ptr<const void> kept, std::shared_ptr<release_op> op);
    asio::awaitable<void> run_release_with(
        std::shared_ptr<const void> kept,
        std::shared_ptr<release_op> op,
        claims::sent_request request
    );
    std::shared_ptr<release_op> begin(const claim_ptr& released);
    asio::awaitable<void>
    run_orphan(std::shared_ptr<const void> kept, std::string name, request_id id);

    releases_by_id under_way_;
};

}  // namespace mortise::detail

#endif
