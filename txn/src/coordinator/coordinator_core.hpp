// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_COORDINATOR_CORE_HPP
#define MORTISE_TXN_COORDINATOR_COORDINATOR_CORE_HPP

#include "coordinator/ends_during_reads.hpp"
#include "coordinator/lane.hpp"
#include "coordinator/partition.hpp"
#include "coordinator/running.hpp"
#include "log/decision_log.hpp"
#include "log/wish_tables.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/txn_observer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn::detail {

/// The state of a `coordinator`: its log, the transactions that are under way, and the participants
/// that it calls for them.
///
/// @par Threads The strand, except for the members marked "Any thread".
class coordinator_core final : public std::enable_shared_from_this<coordinator_core>,
                               public coro::detail::shutdown_hook {
public:
    coordinator_core(asio::any_io_executor executor, coordinator_config config);
    ~coordinator_core() override;

    /// Call once, after construction, because it needs `shared_from_this`.
    void attach();

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }
    void run(transaction transaction, outcome_handler handler);
    void ask(const gid& gid, outcome_handler handler);
    void settle(const gid& gid, outcome_handler handler);
    void show(
        const gid& gid,
        coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler
    );
    void list(
        list_filter filter,
        std::uint64_t after,
        std::size_t limit,
        coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler
    );
    void intervene(intervention order, coro::detail::completion<void(error_code)> handler);
    void log_stats(coro::detail::completion<void(error_code, db::sqlite_stats)> handler);
    void stop(coro::detail::completion<void(error_code)> handler);
    void close() noexcept;
    coordinator_stats stats() const noexcept;

    /// Gives a transaction up, on behalf of its caller.
    void withdraw(running& transaction);
    /// Ends a wait that was cancelled.
    void dismiss(const settler& waiter);

private:
    using running_ptr = std::shared_ptr<running>;
    using action = core::tcc_fsm::action;
    using steps = core::tcc_fsm::steps;

    struct client_lane {
        client_lane(lane limits, std::shared_ptr<participant> who)
            : judge(limits), client(std::move(who)) {}
        lane judge;
        std::shared_ptr<participant> client;
        std::size_t owed = 0;  ///< Confirms and cancels that it did not answer.
        bool barred = false;   ///< It is ahead of the log: nothing new is begun with it.
        bool broken = false;   ///< As last reported to the observer.
        struct waiting {
            running_ptr transaction;
            branch_number branch;
        };
        std::deque<waiting> queue;
        coro::detail::deadline_list::handle timer;
    };

    void shut_down() noexcept override;

    // coordinator_core.cpp
    error_code check(const transaction& transaction) const;
    /// Runs `then` on the strand. Opens the log anew if the log is broken.
    template <class Then>
    auto with_log(Then then) {
        return asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             number = log_number_,
             then = std::move(then)](error_code failed, auto&&... more) mutable {
                then(failed, std::forward<decltype(more)>(more)...);
                if (number == self->log_number_ && self->log_ && self->log_->poisoned())
                    self->log_failed(mortise::errc::poisoned);
            }
        );
    }
    /// As `with_log`, for reads. If the log is closed before it has answered, `then` gets the
    /// reason instead of `operation_aborted`: nobody has cancelled anything.
    template <class Then>
    auto with_read(Then then) {
        return with_log([self = shared_from_this(),
                         then = std::move(then)](error_code failed, auto&&... more) mutable {
            const bool closed = failed == asio::error::operation_aborted;
            then(closed ? self->unusable() : failed, std::forward<decltype(more)>(more)...);
        });
    }
    void tell(const txn_event& event) const {
        if (config_.observer != nullptr)
            config_.observer->on_event(event);
    }
    txn_event event_of(txn_event::kind kind, const running& transaction) const;
    void tell_of(txn_event::kind kind, const running& transaction, branch_number branch = 0) const;
    void tell_of(txn_event::kind kind, const partition& at, error_code why = {}) const;
    /// Returns why nothing can be done just now.
    error_code unusable() const;
    void drop(const running_ptr& transaction, error_code why);
    void release(const running_ptr& transaction, error_code why);
    void forget(running& transaction);
    void drop_all(error_code why);
    void drop_early(error_code why);
    void arm();
    void on_alarm();
    clock::time_point now() const noexcept { return time_->now(); }
    clock::duration pause_after(std::uint32_t attempts);
    /// Limits the pause that a participant asks for. If it asks for no pause repeatedly, it gets
    /// one that doubles.
    clock::duration
    pause_asked_for(std::chrono::milliseconds by_it, std::uint32_t times) const noexcept;

    // coordinator_log.cpp
    coro::worker& opener();
    void open_log();
    void opened(error_code failed, std::uint64_t number, std::unique_ptr<log::decision_log> fresh);
    void prepare_log();
    void close_beside(std::unique_ptr<log::decision_log> old);
    void log_failed(error_code why);
    void begin_stop();
    void close_now();
    void end_stop();
    void end_stop_later();

    // coordinator_claim.cpp
    void prepared(error_code failed, const log::log_facts& found);
    void take(partition& at, const std::optional<fencing_token>& epoch);
    void taken(partition& at, error_code failed, const log::term& by);
    void stand(partition& at);
    static asio::awaitable<void>
    lead_partition(std::shared_ptr<coordinator_core> self, partition* at, std::uint64_t number);
    asio::awaitable<void> serve(partition& at, const lease& held, std::uint64_t number);
    void stood(const std::exception_ptr& failed, std::uint64_t number);
    void step_down(partition& at, error_code why);
    void retire(error_code why);
    void leave(partition& at);
    void leave_when_decided(partition& at);
    bool decides_nothing() const;
    void balance();
    void balance_among(std::size_t coordinators);
    std::string lock_name(const partition& at) const;
    std::size_t owned() const;
    bool is_taking() const;
    partition* choose();

    // coordinator_run.cpp
    void start(const running_ptr& transaction);
    void begin(const running_ptr& transaction, partition& at);
    void begun(
        const running_ptr& transaction, partition& at, error_code failed, const log::begun& begun
    );
    void join(const running_ptr& transaction, const log::begun& answer);
    static outcome outcome_in(const gid& gid, const log::verdict& verdict);
    void carry_out(const running_ptr& transaction, const steps& next);
    void abort(running& transaction, errc why, std::string text = {});
    void decide(const running_ptr& transaction, bool confirm);
    void decide_too_late(const running_ptr& transaction);
    void decided(
        const running_ptr& transaction,
        error_code failed,
        std::optional<log::durable_decision> proof
    );
    void was_decided(const running_ptr& transaction);
    void end(const running_ptr& transaction);
    void ended(const running_ptr& transaction, error_code failed);
    void note(const running_ptr& transaction);
    static void
    answer(std::vector<outcome_handler>& waiters, error_code failed, const outcome& settled);
    static void
    answer(std::vector<settler_ptr>& waiters, error_code failed, const outcome& settled);
    outcome outcome_of(const running& transaction) const;
    bool gone(const running& transaction) const;

    // coordinator_call.cpp
    void ask_participant(const running_ptr& transaction, branch_number number);
    void pump(client_lane& at);
    void make_call(client_lane& at, const running_ptr& transaction, branch_number number);
    call call_for(const running& transaction, branch_number number) const;
    void called(
        const running_ptr& transaction,
        branch_number number,
        std::uint64_t flight,
        const std::exception_ptr& thrown,
        result<reply> got
    );
    void came(
        const running_ptr& transaction,
        branch_number number,
        const result<reply>& got,
        const std::string& text
    );
    void try_came(
        const running_ptr& transaction,
        branch_number number,
        const result<reply>& got,
        const std::string& text
    );
    void
    finish_came(const running_ptr& transaction, branch_number number, const result<reply>& got);
    void again_after(const running_ptr& transaction, branch_number number, clock::duration pause);
    void stuck(const running_ptr& transaction, branch_number number);
    void waits_for_people(running& transaction, bool does);
    void note_answer(client_lane& at, const std::string& name, const result<reply>& got);
    void owes(running& transaction, branch_number number);
    void pays(running& transaction, std::size_t branch);
    bool is_away(const running& transaction) const;
    void give_up_unsent(client_lane& at);
    void never_sent(const running_ptr& transaction, branch_number number);
    void stop_tries(const running_ptr& transaction, steps& next);

    // coordinator_suspect.cpp
    bool tells_of_an_old_copy(
        const running& transaction, branch_number number, const result<reply>& got
    ) const;
    void doubt(const running_ptr& transaction, branch_number number, const result<reply>& got);
    void suspect(const running_ptr& transaction, branch_number number);
    void no_longer_suspect(running& transaction);
    void lift_bars(const running& transaction);
    bool is_barred(const running& transaction) const;

    // coordinator_ask.cpp
    template <class Answer>
    void ask_log(const gid& gid, Answer answer);
    void settle_now(const settler_ptr& waiter);
    void settle_logged(const settler_ptr& waiter);
    void settle_by_log(const settler_ptr& waiter);
    void hurry(const running_ptr& transaction);

    // coordinator_intervene.cpp
    using code_handler = coro::detail::completion<void(error_code)>;
    error_code reason_against(const intervention& how) const;
    void
    intervene_now(const intervention& how, std::optional<std::int64_t> wish, code_handler handler);
    static void mark_skipped(running& transaction, const intervention& how, bool skipped);
    static void answer(code_handler& handler, error_code code);
    void intervened(const running_ptr& transaction, const intervention& how);
    void intervene_logged(const intervention& how, code_handler handler);
    void put_aside_later(const running_ptr& transaction);
    void put_aside(const running_ptr& transaction);
    static bool is_idle(const running& transaction);
    static bool concerns(const intervention& how, std::size_t branch) {
        return how.branch == 0 || how.branch == branch + 1;
    }

    // coordinator_wishes.cpp
    void listen();
    void read_wishes(std::int64_t after);
    void wishes_read(const std::vector<log::wish>& found);
    void fulfil(const log::wish& each);
    void fetch_for(const log::wish& each);
    void end_unread(partition& home, const log::wish& each, const log::logged& found);
    static bool is_unasked(const running& transaction, const intervention& how);
    void refuse(std::int64_t wish, error_code why);

    // coordinator_recovery.cpp
    void recover();
    void recover(partition& at);
    void recovered(
        partition& at,
        error_code failed,
        const std::vector<log::logged>& found,
        bool all,
        const ends_during_reads::read& read
    );
    /// Whether to call a branch once more that is stuck in the log, or to leave it stuck.
    enum class stuck_ones : std::uint8_t { ask, keep };
    void take_up(partition& at, const log::logged& found, stuck_ones choice = stuck_ones::ask);
    static void keep_stuck(running& transaction, const std::vector<bool>& stuck, steps& next);
    /// Marks a transaction that will take long, so that the recovery need not wait for it.
    void is_slow(running& transaction);
    void housekeeping();
    void learn_ends();
    void purge();

    coro::detail::strand_seat seat_;
    const coordinator_config config_;
    static constexpr std::chrono::milliseconds reopen_first{50};
    static constexpr std::chrono::milliseconds asked_pause_max = std::chrono::hours(24);
    clock::duration reopen_pause_{reopen_first};
    const std::shared_ptr<coro::time_source> time_;
    std::minstd_rand jitter_;

    std::unique_ptr<log::decision_log> log_;
    std::unique_ptr<coro::worker> opener_;  ///< Made when it is first needed.
    std::optional<db::bell> bell_;
    std::set<std::uint64_t> wished_;  ///< Transactions with an order that waits for a participant.
    std::uint64_t log_number_ = 0;  ///< Counts openings of the log; answers to older ones are void.
    std::optional<std::uint64_t> log_id_;
    std::vector<std::unique_ptr<partition>> partitions_;
    std::size_t next_partition_ = 0;
    std::size_t standing_ = 0;  ///< Coroutines that stand for election, or lead.
    error_code no_term_;        ///< Why no partition is ours, unless another coordinator has it.
    bool opening_ = true;       ///< A partition may be ours in a moment.
    std::map<std::string, client_lane, std::less<>> lanes_;
    std::map<std::uint64_t, running_ptr> open_;
    ends_during_reads ends_during_reads_;
    std::vector<running_ptr> early_;           ///< Transactions that wait for a partition.
    std::vector<settler_ptr> early_settlers_;  ///< Settlers that wait for a partition.
    std::size_t beginning_ = 0;                ///< Transactions that wait for their number.
    std::size_t resumed_ = 0;                  ///< Open ones that were taken up from the log.
    std::size_t slow_ = 0;                     ///< Resumed ones that take long.
    std::size_t for_people_ = 0;               ///< Open ones that are stuck.
    std::size_t resumed_for_people_ = 0;       ///< Resumed ones that are stuck.
    std::uint64_t flights_ = 0;
    log::ends_below ends_;
    unsigned balances_ = 0;
    std::size_t ends_since_ = 0;
    std::uint64_t purged_to_ = 0;
    bool learning_ = false;
    bool purging_ = false;
    bool stopping_ = false;
    bool log_stopping_ = false;
    bool stop_overdue_ = false;  ///< The log has not taken all decisions in time.
    bool closed_ = false;
    std::vector<coro::detail::completion<void(error_code)>> stoppers_;
    coro::detail::deadline_list deadlines_;
    coro::detail::deadline_list::handle reopen_timer_;
    coro::detail::deadline_list::handle early_timer_;
    coro::detail::deadline_list::handle balance_timer_;
    coro::detail::deadline_list::handle stop_timer_;
    coro::detail::alarm alarm_;
    clock::time_point armed_for_;

    struct counters {
        std::atomic<std::uint64_t> begun{0};
        std::atomic<std::uint64_t> confirmed{0};
        std::atomic<std::uint64_t> cancelled{0};
        std::atomic<std::uint64_t> ended{0};
        std::atomic<std::uint64_t> calls{0};
        std::atomic<std::uint64_t> calls_failed{0};
        std::atomic<std::uint64_t> taken_up{0};
        std::atomic<std::uint64_t> stuck{0};
        std::atomic<std::uint64_t> suspicious{0};
        std::atomic<std::uint64_t> open{0};
        std::atomic<std::uint64_t> forgotten{0};
        std::atomic<std::uint64_t> partitions{0};
        std::atomic<std::uint64_t> broken{0};
    } count_;
};

}  // namespace mortise::txn::detail

#endif
