// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_COORDINATOR_CORE_HPP
#define MORTISE_TXN_COORDINATOR_COORDINATOR_CORE_HPP

#include "coordinator/lane.hpp"
#include "coordinator/running.hpp"
#include "log/decision_log.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mortise::txn::detail {

/// What a `coordinator` is: its log, the transactions that are under way, and the participants that
/// it calls for them.
///
/// @par Threads The strand, but for what is said to be for any.
class coordinator_core final : public std::enable_shared_from_this<coordinator_core>,
                               public coro::detail::shutdown_hook {
public:
    coordinator_core(asio::any_io_executor executor, coordinator_config config);
    ~coordinator_core() override;

    /// Once, after construction, as it needs `shared_from_this`.
    void attach();

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return executor_; }
    void run(transaction what, outcome_handler handler);
    void ask(const gid& which, outcome_handler handler);
    void settle(const gid& which, outcome_handler handler);
    void show(
        const gid& which,
        coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler
    );
    void list(
        list_filter which,
        std::uint64_t after,
        std::size_t limit,
        coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler
    );
    void intervene(intervention what, coro::detail::completion<void(error_code)> handler);
    void stop(coro::detail::completion<void(error_code)> handler);
    void close() noexcept;
    coordinator_stats stats() const noexcept;

    /// The caller of that transaction gives it up.
    void withdraw(running& what);

private:
    using running_ptr = std::shared_ptr<running>;
    using action = core::tcc_fsm::action;
    using steps = core::tcc_fsm::steps;

    struct client_lane {
        client_lane(lane limits, std::shared_ptr<participant> who)
            : judge(limits), whom(std::move(who)) {}
        lane judge;
        std::shared_ptr<participant> whom;
        struct waiting {
            running_ptr what;
            branch_number branch;
        };
        std::deque<waiting> queue;
        coro::detail::deadline_list::handle timer;
    };

    void shut_down() noexcept override;

    // coordinator_core.cpp
    error_code check(const transaction& what) const;
    void open_log();
    void opened(error_code failed, const log::term& by);
    void log_failed(error_code why);
    /// Why nothing can be asked of the log just now.
    error_code unusable() const { return no_term_ ? no_term_ : error_code(errc::stopped); }
    void step_down(error_code why);
    void drop_all(error_code why);
    void close_now();
    void end_stop();
    void arm();
    void on_alarm();
    clock::time_point now() const noexcept { return time_->now(); }
    clock::duration pause_after(std::uint32_t attempts);

    // coordinator_run.cpp
    void start(const running_ptr& what);
    void begin(const running_ptr& what);
    void begun(const running_ptr& what, error_code failed, const log::begun& answer);
    void join(const running_ptr& what, const log::begun& answer);
    void carry_out(const running_ptr& what, const steps& next);
    void abort(running& what, errc why, std::string text = {});
    void decide(const running_ptr& what, bool confirm);
    void
    decided(const running_ptr& what, error_code failed, std::optional<log::durable_decision> proof);
    void end(const running_ptr& what);
    void ended(const running_ptr& what, error_code failed);
    void note(const running_ptr& what);
    static void answer(std::vector<outcome_handler>& whom, error_code failed, const outcome& came);
    outcome outcome_of(const running& what) const;
    bool gone(const running& what) const;

    // coordinator_call.cpp
    void ask_participant(const running_ptr& what, branch_number which);
    void pump(client_lane& at);
    void make_call(client_lane& at, const running_ptr& what, branch_number which);
    call call_for(const running& what, branch_number which) const;
    void called(
        const running_ptr& what,
        branch_number which,
        std::uint64_t flight,
        const std::exception_ptr& thrown,
        result<reply> got
    );
    void came(const running_ptr& what, branch_number which, const result<reply>& got);
    void try_came(const running_ptr& what, branch_number which, const result<reply>& got);
    void finish_came(const running_ptr& what, branch_number which, const result<reply>& got);
    void again_after(const running_ptr& what, branch_number which, clock::duration pause);
    void stuck(const running_ptr& what, branch_number which);
    void stop_tries(const running_ptr& what);

    // coordinator_ask.cpp
    void ask_log(const gid& which, outcome_handler handler);
    void hurry(const running_ptr& what);

    // coordinator_intervene.cpp
    using code_handler = coro::detail::completion<void(error_code)>;
    void intervene_now(const intervention& what, code_handler handler);
    void intervened(const running_ptr& what, const intervention& how);
    static bool concerns(const intervention& how, std::size_t branch) {
        return how.branch == 0 || how.branch == branch + 1;
    }

    // coordinator_recovery.cpp
    void recover();
    void recovered(error_code failed, const std::vector<log::logged>& found);
    void take_up(const log::logged& found);
    void learn_ends();

    const asio::any_io_executor executor_;
    std::optional<asio::any_io_executor> strand_;  ///< Empty once the context has ended.
    const coro::detail::fork_guard process_;
    std::shared_ptr<const std::atomic<bool>> context_ended_;
    const coordinator_config config_;
    const std::shared_ptr<coro::time_source> time_;
    std::minstd_rand jitter_;

    std::optional<log::decision_log> log_;
    std::optional<log::term> term_;  ///< Ours, while we decide.
    error_code no_term_;             ///< Why there is none, if not because the log is being opened.
    std::uint64_t log_number_ = 0;  ///< Which opening of the log it is: answers of others are void.
    std::map<std::string, client_lane, std::less<>> lanes_;
    std::map<std::uint64_t, running_ptr> open_;
    std::vector<running_ptr> early_;  ///< They wait for the log.
    std::size_t beginning_ = 0;       ///< They wait for their number.
    std::uint64_t flights_ = 0;
    std::uint64_t ended_below_ = 0;
    std::size_t ends_since_ = 0;
    std::uint64_t recovered_to_ = 0;
    bool recovering_ = false;
    bool recovery_done_ = false;
    bool learning_ = false;
    bool stopping_ = false;
    bool closed_ = false;
    std::vector<coro::detail::completion<void(error_code)>> stoppers_;
    coro::detail::deadline_list deadlines_;
    coro::detail::deadline_list::handle reopen_timer_;
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
        std::atomic<std::uint64_t> open{0};
    } count_;
};

}  // namespace mortise::txn::detail

#endif
