// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLAIMS_HPP
#define MORTISE_CLIENT_CLAIMS_HPP

#include "client/claim.hpp"
#include "client/client_context.hpp"
#include "core/acquire_fsm.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace mortise::detail {

/// The requests and grants of one client at the store: sends each request, repeats it, withdraws
/// it, and hands its grant to the lock table.
///
/// @par Threads The strand.
class claims final : session_part {
public:
    using action = core::acquire_fsm::action;
    using claim_ptr = std::shared_ptr<claim>;
    using claims_by_id = std::map<request_id, claim_ptr>;
    using claims_in_order = std::map<std::uint64_t, claim_ptr>;

    claims(client_session& own, client_core& core, client_context& context) noexcept
        : session_part(own, core, context) {}

    /// Starts a claim. A contended lock is requested again only with its release, or after the
    /// store has answered that: otherwise the store would serve the new request before the waiters
    /// of other clients hear of the release.
    ///
    /// @param behind claims that are asked for in the same call, or not at all.
    void start(
        const claim_ptr& claim,
        const std::shared_ptr<release_op>& releasing,
        const std::vector<claim_ptr>& behind
    );
    /// Takes a claim in. @return whether its request may be sent now
    bool enter(const claim_ptr& claim);
    /// A request that its caller sends.
    struct sent_request {
        sent_request() = default;  // declared: no aggregate (docs/compilers.md, G3)

        claim_ptr by;
        lock_request sent;
        std::uint64_t epoch = 0;
    };
    /// Begins the request of a claim that `enter` has let in.
    sent_request begin(const claim_ptr& claim);
    void take_answer(const sent_request& request, result<answer> reply);
    /// Undoes a claim that nobody wants any longer.
    void stop(const claim_ptr& claim, error_code reason);
    /// Refuses a claim that waits for a session, or for the proof of its grant.
    void refuse(const claim_ptr& claim, error_code why);
    /// Refuses those that wait for the proof of their grants, because it does not come now.
    /// @param only_tries whether waiters wait on.
    void refuse_unproved(error_code why, bool only_tries);
    /// Sends a request that waited for the release of another grant.
    void send_behind(const claim_ptr& claim);
    /// Carries out what the state machine of the claim asks for.
    void drive(const claim_ptr& claim, action next);
    void draw(const claim_ptr& claim);
    /// Gives an idle grant back once it has lingered long enough.
    void linger(const claim_ptr& claim);

    /// The store pushed a grant. @return whether the request is one of this session.
    bool granted(const store_event& event);
    /// Takes a grant that the store named, with the proof that keeps it: the claim goes over to the
    /// session of that number, if it is another.
    void take_grant(const claim_ptr& claim, const fencing_token& token, proof_number number);
    /// Another client waits for the lock of this request. @return as `granted`.
    bool contended(request_id id);
    /// The store took that grant away. @return whether this session has it, or releases it.
    bool taken_away(request_id id);
    void contended(claim& claim);
    /// Notes what the store says of a grant in an answer, a push or a look.
    void note_grant(claim& claim, std::uint32_t slot, bool contended);
    /// Repeats the unanswered requests, because the store can be reached again.
    void ask_again();
    /// The session is proved: its unproved grants count.
    void session_proved();
    /// The session opened: sends the requests of all claims that wait for one.
    void session_opened();
    /// The session is gone: its requests begin again with the next one.
    void session_lost();

    /// Tells the holders that their session is about to expire.
    void warn_all();
    /// Tells the holders of a grant that it is gone. The caller carries out `work` for the waiters.
    void lose(claim& claim, errc why, queue_work& work);
    void lose_all(errc why, queue_work& work);
    /// As `lose`, for a grant that the store no longer has.
    void lose_missing(const claim_ptr& claim, queue_work& work);
    /// The store does not have this request.
    void missing(const claim_ptr& claim);
    /// The store no longer has the grant that was not proved yet.
    void revoked(const claim_ptr& claim);
    /// Takes a grant out, to release it. @return false if it is gone already.
    bool take_granted(const claim& claim) { return granted_.erase(claim.id) != 0; }

    /// By the id of the present request: without a grant, or with one that is not proved yet.
    const claims_by_id& asking() const noexcept { return asking_; }
    const claims_by_id& granted() const noexcept { return granted_; }
    const std::set<request_id>& unproved() const noexcept { return unproved_; }
    /// Waiting for a session, in their order.
    const claims_in_order& idle() const noexcept { return idle_; }
    /// Whether a claim waits for a session or for its proof.
    bool need_session() const noexcept { return !idle_.empty() || !unproved_.empty(); }
    bool has_waiters() const noexcept { return asking_.size() > unproved_.size(); }
    /// Those without a grant, in the order in which they were asked first.
    std::vector<claim_ptr> all_asking() const;
    struct everything {
        claims_by_id asking;
        claims_in_order idle;
        claims_by_id granted;
    };
    everything take_all();

    static grant grant_of(const claim& claim);

private:
    void send_request(const claim_ptr& claim);
    void note_sending(const claim_ptr& claim);
    sent_request request_of(const claim_ptr& claim);
    void answered(const claim_ptr& claim, const answer& reply);
    void fail_request(const claim_ptr& claim, error_code why);
    void lose_answer(const claim_ptr& claim, error_code why);
    void bound_undo(const claim_ptr& claim);
    void try_later(const claim_ptr& claim);
    void retry_in_turn(const claim_ptr& claim);
    void finish(const claim_ptr& claim);
    void accept(const claim_ptr& claim);
    void to_idle(const claim_ptr& claim);
    void go_over(const claim_ptr& claim, client_session& next);
    bool has_gone_over(const claim& claim) const;
    void drop(const claim_ptr& claim);
    void start_in_order(const claim_ptr& first, const std::vector<claim_ptr>& behind);
    void leave_out(const claim_ptr& claim);
    void take_no_answer(const sent_request& request);
    asio::awaitable<void>
    run_in_order(std::shared_ptr<const void> kept, std::vector<sent_request> requests);
    asio::awaitable<void> run_request(std::shared_ptr<const void> kept, claim_ptr claim);
    asio::awaitable<void> run_withdraw(std::shared_ptr<const void> kept, claim_ptr claim);
    asio::awaitable<void> run_draw(std::shared_ptr<const void> kept, claim_ptr claim);

    claims_by_id asking_;
    claims_in_order idle_;
    std::set<request_id> unproved_;  ///< Of `asking_`: granted, but without a proof of the session.
    claims_by_id granted_;
    clock::time_point next_turn_;  ///< Of a retry; further away the more of them are due.
};

}  // namespace mortise::detail

#endif
