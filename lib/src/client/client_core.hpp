// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_CORE_HPP
#define MORTISE_CLIENT_CLIENT_CORE_HPP

#include "client/acquire_op.hpp"
#include "client/client_counters.hpp"
#include "client/deadline_list.hpp"
#include "client/held_grant.hpp"
#include "client/release_op.hpp"
#include "client/session_watch.hpp"
#include "core/session_fsm.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/options.hpp"
#include "mortise/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::detail {

/// What a `lock_client` is inside: the session, the acquires under way, the grants that are held.
///
/// Everything but the functions marked *any thread* runs on the strand. The object lives until its
/// last call at the store has returned; `close` cuts it off from user and store before that.
///
/// Source files: client_core.cpp (life and end), client_acquire.cpp, client_release.cpp,
/// client_session.cpp (opening, heartbeat, loss), client_look.cpp (comparing with the store).
class client_core final : public std::enable_shared_from_this<client_core>,
                          public coro::detail::shutdown_hook,
                          private store_events {
public:
    using list_handler = coro::detail::completion<void(error_code, std::vector<lock_view>)>;

    client_core(asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config);
    ~client_core();

    /// Once, after construction, as it needs `shared_from_this`.
    void attach();

    // Any thread.
    asio::any_io_executor executor() const noexcept { return executor_; }
    store_traits traits() const noexcept { return traits_; }
    client_stats stats() const noexcept { return counters_.read(); }
    std::string explain() const;
    void
    acquire(std::string name, lock_options options, bool queue, acquire_op::handler_type handler);
    void release(std::shared_ptr<held_grant> held, release_op::handler_type handler);
    void release_late(std::shared_ptr<held_grant> held) noexcept;
    void wait_lost(std::shared_ptr<held_grant> held, release_op::handler_type handler);
    bool forked() const noexcept { return process_.forked(); }
    void list(std::string after, std::size_t limit, std::size_t queue_max, list_handler handler);
    void stop(lease_handler handler);
    void close() noexcept;

    // For acquire_op, on the strand.
    void cancel(acquire_op& op);

private:
    using strand_type = asio::strand<asio::any_io_executor>;
    using op_ptr = std::shared_ptr<acquire_op>;
    using action = core::acquire_fsm::action;

    void on_store_event(const store_event& event) noexcept override;
    void shut_down() noexcept override;
    clock::time_point now() const noexcept { return watch_->now(); }

    // client_core.cpp
    void close_now();
    void arm();
    void on_alarm();
    asio::awaitable<void> run_stop(std::shared_ptr<client_core> self, lease_handler handler);
    asio::awaitable<void> run_list(
        std::shared_ptr<client_core> self,
        std::string after,
        std::size_t limit,
        std::size_t queue_max,
        list_handler handler
    );
    void spawn(asio::awaitable<void> task);
    static clock::duration undo_pause(unsigned attempt) noexcept;
    void lose(held_grant& held, errc why);

    // client_acquire.cpp
    void start(const op_ptr& op);
    void stop_op(const op_ptr& op, error_code reason);
    void drive(const op_ptr& op, action next);
    void send_request(const op_ptr& op);
    void fail_request(const op_ptr& op, error_code why);
    void bound_undo(const op_ptr& op);
    void undo_later(const op_ptr& op);
    void finish(const op_ptr& op);
    void deliver(acquire_op& op, error_code code, lease held);
    void to_idle(const op_ptr& op);
    void drop(const op_ptr& op);
    asio::awaitable<void> run_request(std::shared_ptr<client_core> self, op_ptr op);
    asio::awaitable<void> run_withdraw(std::shared_ptr<client_core> self, op_ptr op);
    std::vector<op_ptr> all_ops() const;

    // client_release.cpp
    void start_release(const std::shared_ptr<release_op>& op);
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
    void beat_now();
    asio::awaitable<void> run_beat(std::shared_ptr<client_core> self);
    void beaten(const heartbeat& reply, bool quiet);
    void proved(clock::time_point sent);
    void publish();
    void session_over(errc why);
    void abandon();
    bool surely_held() const { return session_.at(now()) == core::session_fsm::state::held; }
    bool has_waiters() const;

    // client_look.cpp
    void look_now();
    asio::awaitable<void> run_look(std::shared_ptr<client_core> self);
    /// What was known here when the store was asked to show what it has.
    struct snapshot {
        request_id last_id = 0;
        std::set<request_id> known;
        std::vector<request_id> waiting;
        std::vector<request_id> held;
    };
    snapshot take_snapshot() const;
    void compare(const session_view& view, const snapshot& before);
    void see(const session_entry& entry, const snapshot& before);

    const asio::any_io_executor executor_;
    std::optional<strand_type> strand_;  ///< Empty once the context has ended.
    const fork_guard process_;
    std::shared_ptr<const std::atomic<bool>> context_ended_;
    const std::unique_ptr<store> store_;
    const store_traits traits_;
    const client_config config_;
    const std::shared_ptr<coro::time_source> time_;
    const core::session_timing timing_;
    client_counters counters_;

    // On the strand only.
    core::session_fsm session_;
    std::shared_ptr<session_watch> watch_;
    session_id session_id_;
    std::uint64_t epoch_ = 0;  ///< Counts sessions: answers to an earlier one are void.
    bool opening_ = false;
    bool beating_ = false;
    bool looking_ = false;
    bool look_wanted_ = false;
    std::optional<clock::time_point> proof_pending_;  ///< A proof that counts after a look.
    bool stopping_ = false;
    bool closed_ = false;
    random_id incarnation_;
    std::uint64_t changes_seen_ = 0;
    /// Calls that changed a lock, ever: tells whether it was quiet.
    std::uint64_t calls_ = 0;
    std::uint64_t calls_under_way_ = 0;
    clock::time_point reap_at_ = clock::time_point::max();
    request_id last_id_ = 0;
    std::map<request_id, op_ptr> ops_;          ///< By the id of the present request.
    std::map<std::uint64_t, op_ptr> idle_ops_;  ///< Waiting for a session, in their order.
    /// Of `ops_`: granted, but without a proof of the session.
    std::set<request_id> unproved_;
    std::uint64_t last_order_ = 0;
    std::map<request_id, std::shared_ptr<held_grant>> grants_;
    std::map<request_id, std::shared_ptr<release_op>> releases_;
    deadline_list deadlines_;
    asio::cancellation_signal timer_signal_;
    bool armed_ = false;
    clock::time_point armed_for_;
    std::uint64_t armed_count_ = 0;
};

}  // namespace mortise::detail

#endif
