// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SQLITE_SHELL_HPP
#define MORTISE_STORE_SQLITE_SQLITE_SHELL_HPP

#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/coro/detail/busy_poll.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/store.hpp"
#include "store/sqlite/mailbox.hpp"
#include "store/sqlite/outcome.hpp"
#include "store/sqlite/sqlite_state.hpp"
#include "store/sqlite/write_batch.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// What a heartbeat found.
struct beat_report {
    beat_report() = default;

    error_code code;
    heartbeat value;
    bool to_reap = false;
    bool stirred = false;
    neighbour_plan neighbours;
};

/// The part of the SQLite store that lives on the client's strand: it hands the work to two
/// threads, reads the sockets, and tells the client.
///
/// The writer's thread does everything that waits for the database or its lock. Heartbeats have a
/// thread of their own: a writer that is stuck must not end the session.
///
/// @par Threads The strand.
class sqlite_shell final : public std::enable_shared_from_this<sqlite_shell>,
                           private mailbox_events {
public:
    sqlite_shell(
        asio::any_io_executor strand,
        store_events& events,
        std::shared_ptr<coro::time_source> time,
        const sqlite_store_config& config
    );

    void detach() noexcept;

    asio::awaitable<result<resumed>> resume(session_start start);
    asio::awaitable<error_code> end();
    asio::awaitable<result<heartbeat>> beat();
    asio::awaitable<error_code> watch();

    /// Runs `job`, which gives an `outcome<T>`, on the writer's thread; its notices are told
    /// afterwards.
    template <class T, class Job>
    asio::awaitable<outcome<T>> ask(Job job);

    /// The same for an operation, which may share its transaction with others.
    template <class Operation>
    asio::awaitable<outcome<typename Operation::value_type>> perform(Operation operation);

    const std::shared_ptr<sqlite_state>& state() const noexcept { return state_; }

private:
    template <class T>
    outcome<T> conclude(outcome<T> out);
    /// Runs `job` on the writer's thread, behind the operations that it has already.
    template <class Job, class Token>
    auto run_alone(Job job, Token&& token) {
        return writer_.async_run(batch_->alone(std::move(job)), std::forward<Token>(token));
    }
    /// The same for what nobody awaits: `then(shell, failed, out)` runs on the strand.
    template <class Job, class Then>
    void run_beside(Job job, Then then);
    void join_turn(std::unique_ptr<pending_operation> operation);
    void end_turn();

    void on_hints(const std::vector<hint>& hints) override;
    void on_silence(const neighbour& peer) override;

    void tell_noted(store_event::kind kind, request_id id, const noted_grant& noted);
    void hear_stirred();
    void look_stirred();
    void verify_hints();
    void reap(const std::vector<neighbour>& proved_dead);
    void start_reaping();
    void look_round();
    void take(neighbour_plan plan);
    void tell_later(std::vector<notice> notices);
    void tell(const std::vector<notice>& notices);
    void close_mailbox() noexcept;
    void give_up(error_code why);

    asio::any_io_executor strand_;
    coro::detail::busy_poll busy_poll_;
    std::size_t owed_ = 0;  ///< Operations that somebody awaits.
    store_events* events_;
    std::shared_ptr<coro::time_source> time_;
    std::shared_ptr<sqlite_state> state_;
    std::shared_ptr<mailbox> mailbox_;
    std::shared_ptr<write_batch> batch_;
    std::weak_ptr<turn_job> turn_;  ///< What this turn of the strand asks for, until it is over.
    std::vector<hint> hints_;       ///< Not verified yet.
    std::vector<neighbour> dead_;   ///< Proved dead, and not buried yet.
    bool verifying_ = false;
    bool reaping_ = false;
    bool reap_again_ = false;
    bool reap_failed_ = false;
    bool looking_round_ = false;
    bool look_round_again_ = false;
    bool watching_ = false;  ///< The client waits for the next change of any lock.
    random_id incarnation_;
    token_domain domain_;
    // Last, so that they stop before anything that their handlers use.
    coro::detail::batch_worker writer_;
    coro::worker beater_;
};

template <class T, class Job>
asio::awaitable<outcome<T>> sqlite_shell::ask(Job job) {
    end_turn();
    // In two statements: docs/compilers.md, G2.
    auto running = run_alone(std::move(job), coro::detail::with_code);
    auto reply = co_await std::move(running);
    const error_code failed = std::get<0>(reply);
    outcome<T> out = std::move(std::get<1>(reply));
    if (failed)
        out.code = failed;
    co_return conclude(std::move(out));
}

template <class Operation>
asio::awaitable<outcome<typename Operation::value_type>> sqlite_shell::perform(Operation operation
) {
    using pending = awaited_operation<Operation>;
    auto running = coro::detail::async_start<typename pending::signature>(
        strand_,
        asio::deferred,
        [](typename pending::completion done, std::shared_ptr<sqlite_shell> self, Operation started
        ) { self->join_turn(std::make_unique<pending>(std::move(done), std::move(started))); },
        shared_from_this(),
        std::move(operation)
    );
    if (owed_++ == 0)
        busy_poll_.begin();
    auto out = co_await std::move(running);
    if (--owed_ == 0)
        busy_poll_.end();
    co_return conclude(std::move(out));
}

template <class T>
outcome<T> sqlite_shell::conclude(outcome<T> out) {
    if (out.code == coro::errc::queue_full)
        out.code = errc::store_unavailable;
    tell_later(std::move(out.notices));
    return out;
}

}  // namespace mortise::store_detail

#endif
