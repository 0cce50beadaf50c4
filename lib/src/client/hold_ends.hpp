// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_HOLD_ENDS_HPP
#define MORTISE_CLIENT_HOLD_ENDS_HPP

#include "client/claim.hpp"
#include "client/client_context.hpp"
#include "mortise/lease.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>

namespace mortise::detail {

/// The ends of grants by their `hold_max`: a grant is taken from its holder, and given back, before
/// the store ends it by itself.
///
/// @par Threads The strand.
class hold_ends final : session_part {
public:
    using claim_ptr = std::shared_ptr<claim>;

    hold_ends(client_session& own, client_core& core, client_context& context) noexcept
        : session_part(own, core, context) {}

    /// Sets the end of a new grant.
    void begin(const claim_ptr& claim);
    /// Has the store set the end of that lease's grant anew. While its answer is under way, or does
    /// not come, the earliest end counts that may be true (`core::hold_belief`).
    void extend(
        std::shared_ptr<held_grant> held, std::chrono::milliseconds hold_max, lease_handler handler
    );
    /// Takes what a look has found of a grant: a store that went back to older data may have
    /// forgotten an extension.
    void compare(const claim_ptr& claim, const session_entry& seen, clock::time_point look_sent);

private:
    /// The end of a grant that the store keeps for `hold` from `since` or later, by a clock of its
    /// own. The maximum: it does not end by itself.
    hold_end::moment after(clock::time_point since, std::chrono::milliseconds hold) const;
    /// Sets the end that is believed in, and its timers.
    void apply(const claim_ptr& claim);
    /// Tells the holders that the end is near.
    void warn(const claim& claim);
    void over(const claim_ptr& claim);
    void missing(const claim_ptr& claim);
    asio::awaitable<void> run_extend(
        std::shared_ptr<const void> kept,
        std::shared_ptr<held_grant> held,
        std::chrono::milliseconds hold_max,
        lease_handler handler
    );
    asio::awaitable<error_code> ask_store(claim_ptr claim, std::chrono::milliseconds hold_max);
};

}  // namespace mortise::detail

#endif
