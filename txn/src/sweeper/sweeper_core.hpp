// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_SWEEPER_SWEEPER_CORE_HPP
#define MORTISE_TXN_SWEEPER_SWEEPER_CORE_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/outcome_source.hpp"
#include "mortise/txn/sweeper_config.hpp"
#include "mortise/txn/sweeper_stats.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace mortise::txn::detail {

/// The single coroutine of a sweeper, and its state.
class sweeper_core final : public coro::detail::background_core<sweeper_core> {
public:
    sweeper_core(
        asio::any_io_executor executor,
        std::shared_ptr<db::sqlite> of,
        std::shared_ptr<outcome_source> asks,
        sweeper_config config
    );
    ~sweeper_core() override;
    sweeper_stats stats() const noexcept;

    void stop(stop_handler done);
    void close() noexcept;

private:
    friend class coro::detail::background_core<sweeper_core>;

    /// A transaction with overdue reservations.
    struct overdue_one {
        overdue_one(coro::backoff_options limits, std::uint64_t seed) : pause(limits, seed) {}

        coro::backoff pause;
        clock::time_point ask_at{};  ///< Default: at once.
        std::uint64_t seen = 0;      ///< The last look that found it.
    };

    void start();
    void begin_stop(bool at_once);
    void drop() noexcept;
    void ended();

    // On the strand.
    static asio::awaitable<void> run(std::shared_ptr<sweeper_core> self);
    asio::awaitable<clock::time_point> look();
    asio::awaitable<bool> ask_those_due();
    asio::awaitable<result<standing>> ask(gid gid);
    coro::backoff_options limits() const noexcept;
    std::uint64_t draw() noexcept;
    void count(std::uint64_t sweeper_stats::*counter, std::uint64_t more = 1);

    const std::shared_ptr<db::sqlite> of_;
    std::shared_ptr<outcome_source> asks_;
    const sweeper_config config_;
    std::shared_ptr<coro::time_source> time_;

    // On the strand.
    bool running_ = false;
    bool stopping_ = false;
    asio::cancellation_signal stop_;
    std::map<gid, overdue_one> waiting_;
    coro::backoff away_;  ///< The pauses while nobody can be asked.
    std::uint64_t seed_;

    mutable std::mutex mutex_;
    sweeper_stats count_;
};

}  // namespace mortise::txn::detail

#endif
