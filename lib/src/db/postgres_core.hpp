// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_CORE_HPP
#define MORTISE_DB_POSTGRES_CORE_HPP

#include "db/postgres_pool.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/db/postgres_config.hpp"
#include "mortise/db/postgres_stats.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

namespace mortise::db::detail {

class postgres_run;

/// The implementation of a `postgres` session: a pool of connections, and transactions that run.
///
/// @par Threads The strand, except where a comment says any.
class postgres_core final : public coro::detail::background_core<postgres_core> {
public:
    /// @throws error `bad_config`
    postgres_core(asio::any_io_executor executor, postgres_config config);
    ~postgres_core() override;

    // Any thread.
    const asio::any_io_executor& strand() const noexcept { return background_core::strand(); }
    bool deserted() const noexcept { return background_core::deserted(); }
    postgres_stats stats() const noexcept;
    /// Stops at once, for nobody, when the session is destroyed.
    void end() noexcept { stop_unheard(); }
    /// Begins a transaction. If the context has ended, it is dropped.
    void begin(std::shared_ptr<postgres_run> run);

    postgres_pool& pool() noexcept { return *pool_; }
    const postgres_config& config() const noexcept { return *settings_; }
    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }
    std::uint64_t draw_seed() noexcept { return ++seed_; }
    /// Takes a transaction off the list, at its end.
    void ended(const std::shared_ptr<postgres_run>& run);
    /// Notes the sizes for `stats`.
    void note_sizes() noexcept;

    struct counters {
        std::atomic<std::uint64_t> committed{0};
        std::atomic<std::uint64_t> rolled_back{0};
        std::atomic<std::uint64_t> repeated{0};
        std::atomic<std::uint64_t> commits_unknown{0};
        std::atomic<std::uint64_t> cancelled{0};
    };
    counters counts;

private:
    friend class coro::detail::background_core<postgres_core>;

    void start() {}
    void begin_stop(bool at_once);
    void drop() noexcept;
    void end_if_idle();
    void run_beside(std::function<void()> job, std::function<void()> then);

    const std::shared_ptr<const postgres_config> settings_;
    const std::shared_ptr<coro::time_source> time_;
    std::uint64_t seed_;
    std::shared_ptr<postgres_pool> pool_;
    std::set<std::shared_ptr<postgres_run>> runs_;
    /// For requests of cancellation, which libpq sends in a way that blocks. Made for the first.
    std::optional<coro::worker> helper_;
    bool stopping_ = false;
    bool closed_ = false;  ///< The pool has no connection any longer.
    std::atomic<std::size_t> connections_{0};
    std::atomic<std::size_t> waiting_{0};
    std::atomic<std::uint64_t> opened_{0};
    std::atomic<std::uint64_t> failed_{0};
};

}  // namespace mortise::db::detail

#endif
