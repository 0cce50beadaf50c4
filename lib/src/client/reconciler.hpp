// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_RECONCILER_HPP
#define MORTISE_CLIENT_RECONCILER_HPP

#include "client/client_context.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace mortise::detail {

/// Compares the claims of a client with what its store has for the session, where a push or an
/// answer may have been missed.
///
/// @par Threads The strand.
class reconciler final : session_part {
public:
    reconciler(client_session& own, client_core& core, client_context& context) noexcept
        : session_part(own, core, context) {}

    /// Starts a look, at most one at a time; a call during a look asks for another one after it.
    void start();
    /// Starts a look if the store's counts differ from those of the claims, or one is wanted.
    /// `quiet`: no call of ours can have changed the counts since the store's answer.
    void start_if_different(const heartbeat& reply, bool quiet);
    /// Asks for a look after the next heartbeat.
    void want() noexcept { wanted_ = true; }
    /// Notes that a claim has got its grant.
    void note_grant(request_id id);
    void session_lost() noexcept;
    /// Notes the store's count of changes of this session, as it was told with a view.
    void note_changes(std::uint64_t changes) noexcept {
        changes_seen_ = changes;
        told_from_ = told_to_ = 0;
    }
    /// Notes that an event told everything about the change of that number; zero: about none. Only
    /// changes that no event told are looked for.
    void note_told(std::uint64_t change) noexcept;
    /// Notes that the store took a grant away that no claim has. Whatever says later that it was
    /// granted is older, and gives it to nobody.
    void note_gone(request_id id) { gone_.insert(id); }
    bool is_gone(request_id id) const { return gone_.contains(id); }

private:
    /// The claims of this session when a look was sent: its answer can judge only these.
    struct snapshot {
        clock::time_point at;
        request_id last_id = 0;
        std::set<request_id> known;  ///< Of all sessions.
        std::vector<request_id> waiting;
        std::set<request_id> unproved;
        std::vector<request_id> held;
        std::set<request_id> gone;  ///< Were taken away before.
    };

    snapshot take_snapshot() const;
    void compare(const session_view& view, const snapshot& before);
    void compare(const session_entry& entry, const snapshot& before);
    void note_unjudged(const session_view& view);
    void skip_told() noexcept;
    void forget_gone(const snapshot& before);
    bool is_known(std::uint64_t changes) const noexcept;
    asio::awaitable<void> run_look(std::shared_ptr<const void> kept);

    bool looking_ = false;
    bool wanted_ = false;
    bool owed_ = false;  ///< A look with the next heartbeat, for grants that none has judged.
    std::uint64_t changes_seen_ = 0;
    /// The newest changes that events told without a gap; zero: none.
    std::uint64_t told_from_ = 0;
    std::uint64_t told_to_ = 0;
    /// Until a later look, and the answer to the request, have been heard.
    std::set<request_id> gone_;
    std::vector<request_id> granted_meanwhile_;  ///< Since the look that is under way was sent.
    /// Requests without an answer when a look was heard that counted a change.
    std::set<request_id> unheard_;
};

}  // namespace mortise::detail

#endif
