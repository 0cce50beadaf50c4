// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_CORE_HPP
#define MORTISE_CLIENT_CLIENT_CORE_HPP

#include "client/claim.hpp"
#include "client/client_counters.hpp"
#include "client/held_grant.hpp"
#include "client/local_waiter.hpp"
#include "client/lock_table.hpp"
#include "client/session_watch.hpp"
#include "core/session_fsm.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/lock_observer.hpp"
#include "mortise/options.hpp"
#include "mortise/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::detail {

/// The inside of a `lock_client`: its session, and its claims at the store.
///
/// The lock table keeps the waiters and holders inside the process. An acquire that the table
/// cannot settle by itself becomes a claim: a request, then a grant, handled on the strand.
/// Everything but the functions marked *any thread* runs on the strand. The object lives until its
/// last call of the store has returned; `close` cuts it off from user and store before that.
///
/// Source files: client_core.cpp (life and end), client_acquire.cpp (waiters), client_claim.cpp
/// (requests), client_release.cpp, client_session.cpp (opening, heartbeat, loss), client_look.cpp
/// (comparing with the store), client_ask.cpp (questions of users).
class client_core final : public std::enable_shared_from_this<client_core>,
                          public coro::detail::shutdown_hook,
                          private store_events {
public:
    template <class T>
    using answer_handler = coro::detail::completion<void(error_code, T)>;
    using list_handler = answer_handler<std::vector<lock_view>>;
    using inspect_handler = answer_handler<std::optional<lock_view>>;
    using break_handler = answer_handler<bool>;
    using breaks_handler = answer_handler<std::vector<break_record>>;
    using time_left_handler = answer_handler<std::optional<clock::duration>>;
    using examine_handler = answer_handler<std::vector<store_finding>>;

    client_core(asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config);
    ~client_core() override;

    /// Call once, after construction: it needs `shared_from_this`.
    void attach();

    // Any thread.
    asio::any_io_executor executor() const noexcept { return executor_; }
    store_traits traits() const noexcept { return traits_; }
    client_stats stats() const noexcept { return counters_.read(); }
    std::string explain() const;
    clock::time_point now() const noexcept { return watch_->now(); }
    void acquire(
        std::string name, lock_options options, bool queues, local_waiter::handler_type handler
    );
    void cancel(local_waiter& waiter, error_code why);
    void release(const std::shared_ptr<held_grant>& held, release_handler handler);
    void release_late(const std::shared_ptr<held_grant>& held) noexcept;
    void wait_lost(std::shared_ptr<held_grant> held, lease_handler handler);
    void wait_contended(const std::shared_ptr<held_grant>& held, lease_handler handler);
    std::shared_ptr<coro::time_source> time() const noexcept { return time_; }
    bool wanted(const held_grant& held) const {
        return !process_.forked() && table_.wanted(held.of());
    }
    bool forked() const noexcept { return process_.forked(); }
    void list(std::string after, std::size_t limit, std::size_t queue_max, list_handler handler);
    void inspect(std::string name, std::size_t queue_max, inspect_handler handler);
    void break_lock(std::string name, fencing_token token, std::string why, break_handler handler);
    void breaks(std::string name, std::size_t limit, breaks_handler handler);
    void break_holders(std::string name, std::string why, break_handler handler);
    void is_locked(std::string name, break_handler handler);
    void time_left(std::string name, time_left_handler handler);
    void examine(examine_handler handler);
    void watch(lease_handler handler);
    void stop(lease_handler handler);
    void close() noexcept;

private:
    using claim_ptr = std::shared_ptr<claim>;
    using action = core::acquire_fsm::action;

    void on_store_event(const store_event& event) noexcept override;
    void shut_down() noexcept override;

    // client_core.cpp
    void grant_no_more();
    void close_now();
    void pushed(const store_event& event);
    void arm();
    void on_alarm();
    asio::awaitable<void> run_stop(std::shared_ptr<client_core> self, lease_handler handler);
    void spawn(asio::awaitable<void> task);
    static clock::duration undo_pause(unsigned attempt) noexcept;
    void lose(claim& claim, errc why, queue_work& work);
    void lose_all(errc why, queue_work& work);

    // client_acquire.cpp
    void carry_out(queue_work work);
    void tell(lock_event event) const noexcept;
    void tell(lock_event::kind kind, const held_grant& held, error_code code = {}) const noexcept;
    void run(const std::vector<strand_task>& tasks);
    void refuse(const std::vector<strand_task>& tasks);
    void complete(const std::shared_ptr<local_waiter>& waiter);

    // client_claim.cpp
    void start(const claim_ptr& claim, const std::shared_ptr<release_op>& releasing);
    void stop(const claim_ptr& claim, error_code reason);
    void drive(const claim_ptr& claim, action next);
    void send_request(const claim_ptr& claim);
    void fail_request(const claim_ptr& claim, error_code why);
    void lose_answer(const claim_ptr& claim, error_code why);
    void note_grant(claim& claim, std::uint32_t slot, bool contended);
    void contend(claim& claim);
    void bound_undo(const claim_ptr& claim);
    void try_later(const claim_ptr& claim);
    bool is_outage(const error_code& why) const noexcept;
    void note_outage(const error_code& why) noexcept;
    void ask_again();
    void finish(const claim_ptr& claim);
    void accept(const claim_ptr& claim);
    void end_at(const claim_ptr& claim);
    void to_idle(const claim_ptr& claim);
    void drop(const claim_ptr& claim);
    void draw(const claim_ptr& claim);
    void linger(const claim_ptr& claim);
    asio::awaitable<void> run_request(std::shared_ptr<client_core> self, claim_ptr claim);
    asio::awaitable<void> run_withdraw(std::shared_ptr<client_core> self, claim_ptr claim);
    asio::awaitable<void> run_draw(std::shared_ptr<client_core> self, claim_ptr claim);
    std::vector<claim_ptr> all_asking() const;
    static grant grant_of(const claim& claim);

    // client_release.cpp
    std::shared_ptr<release_op> start_release(const claim_ptr& claim);
    void
    count_release(const held_grant& held, lock_queue::release_outcome outcome, bool late) noexcept;
    void end_grant(claim& claim, errc why, queue_work& work);
    void end_hold_at(const std::shared_ptr<held_grant>& held);
    void end_hold(held_grant& held);
    void tell_failed(const release_op& op, error_code why) const noexcept;
    void complete_release(release_op& op, error_code result);
    void end_release(const std::shared_ptr<release_op>& op, error_code result);
    void release_later(const std::shared_ptr<release_op>& op);
    asio::awaitable<void>
    run_release(std::shared_ptr<client_core> self, std::shared_ptr<release_op> op);
    asio::awaitable<void>
    run_orphan(std::shared_ptr<client_core> self, std::string name, request_id id);

    // client_session.cpp
    void need_session();
    asio::awaitable<void> run_open(std::shared_ptr<client_core> self);
    void session_opened(const resumed& reply);
    void opening_failed(error_code why);
    clock::duration reap_spread() const noexcept;
    void note_quarantine(clock::duration left) noexcept;
    clock::duration quarantine_left() const noexcept;
    void fail_idle(const claim_ptr& claim, error_code why);
    void beat_now();
    asio::awaitable<void> run_beat(std::shared_ptr<client_core> self);
    void beaten(const heartbeat& reply, bool quiet);
    void proved(clock::time_point sent);
    void publish();
    void session_over(errc why);
    void abandon();
    bool surely_held() const { return session_.at(now()) == core::session_fsm::state::held; }
    bool has_waiters() const;

    // client_ask.cpp
    template <class T, class Call>
    void question(answer_handler<T> handler, Call call);
    template <class T, class Call>
    static asio::awaitable<void>
    run_question(std::shared_ptr<client_core> self, answer_handler<T> handler, Call call);
    asio::awaitable<result<bool>> break_each(store& at, break_order order);
    void watch_now();
    asio::awaitable<void> run_watch(std::shared_ptr<client_core> self);
    void changed();

    // client_look.cpp
    void look_now();
    asio::awaitable<void> run_look(std::shared_ptr<client_core> self);
    /// The claims of this client when a look was sent: its answer can judge only these.
    struct snapshot {
        clock::time_point at;
        request_id last_id = 0;
        std::set<request_id> known;
        std::vector<request_id> waiting;
        std::set<request_id> unproved;
        std::vector<request_id> held;
    };
    snapshot take_snapshot() const;
    void compare(const session_view& view, const snapshot& before);
    void see(const session_entry& entry, const snapshot& before);

    const asio::any_io_executor executor_;
    std::optional<asio::any_io_executor> strand_;  ///< Empty once the context has ended.
    const coro::detail::fork_guard process_;
    std::shared_ptr<const std::atomic<bool>> context_ended_;
    std::unique_ptr<store> store_;  ///< Null once the context has ended.
    const store_traits traits_;
    const client_config config_;
    const std::shared_ptr<coro::time_source> time_;
    const core::session_timing timing_;
    client_counters counters_;
    std::atomic<errc> outage_ = errc();  ///< Why the store cannot be asked; zero if it can.
    /// The end of the store's quarantine as last reported; the clock's minimum if there is none.
    std::atomic<clock::rep> quarantine_until_ = clock::time_point::min().time_since_epoch().count();
    const std::shared_ptr<session_watch> watch_;
    const std::shared_ptr<client_home> home_;
    lock_table table_;
    coro::detail::wait_list<> watchers_;  ///< Waiting for a change of any lock at the store.

    // On the strand only.
    core::session_fsm session_;
    session_id session_id_;
    std::uint64_t epoch_ = 0;  ///< Counts sessions: answers to an earlier one are void.
    bool opening_ = false;
    bool was_open_ = false;         ///< There has been a session.
    unsigned openings_failed_ = 0;  ///< In a row, the first one at `outage_since_`.
    clock::time_point outage_since_;
    deadline_list::handle open_timer_;
    bool open_later_ = false;  ///< `open_timer_` is set.
    bool beating_ = false;
    bool looking_ = false;
    bool watching_ = false;
    bool look_wanted_ = false;
    std::optional<clock::time_point> proof_pending_;  ///< A proof that counts only after a look.
    bool stopping_ = false;
    bool closed_ = false;
    random_id incarnation_;
    std::uint64_t changes_seen_ = 0;
    /// Calls that may have changed a lock, ever: the same number twice means a quiet time.
    std::uint64_t calls_ = 0;
    std::uint64_t calls_under_way_ = 0;
    clock::time_point reap_at_ = clock::time_point::max();
    request_id last_id_ = 0;
    std::map<request_id, claim_ptr> asking_;          ///< By the id of the present request.
    std::map<std::uint64_t, claim_ptr> idle_claims_;  ///< Waiting for a session, in their order.
    /// Of `asking_`: granted, but without a proof of the session.
    std::set<request_id> unproved_;
    std::uint64_t last_order_ = 0;
    std::map<request_id, claim_ptr> granted_;
    std::map<request_id, std::shared_ptr<release_op>> releases_;
    std::vector<lease_handler> stoppers_;  ///< Waiting for the end of the stop.
    deadline_list deadlines_;
    asio::cancellation_signal timer_signal_;
    bool armed_ = false;
    clock::time_point armed_for_;
    std::uint64_t armed_count_ = 0;
};

}  // namespace mortise::detail

#endif
