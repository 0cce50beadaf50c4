// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_SESSION_HPP
#define MORTISE_DB_SERVER_SESSION_HPP

#include "db/server_pool.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/prepared_transaction.hpp"
#include "mortise/db/server_stats.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace mortise::db::detail {

class server_task;

/// The implementation of a session with a database server: a pool of connections, and tasks that
/// use it, each a transaction or a statement by itself.
///
/// @par Threads The strand, except where a comment says any.
class server_session final : public coro::detail::background_core<server_session> {
public:
    server_session(asio::any_io_executor executor, std::shared_ptr<server_place> place);
    ~server_session() override;

    // Any thread.
    bool deserted() const noexcept { return background_core::deserted(); }
    server_stats stats() const noexcept;
    /// Calls `then` on the strand, maybe from inside; not if the context has ended.
    template <class Function>
    void post(Function then) {
        if (!deserted())
            asio::dispatch(strand(), std::move(then));
    }
    /// The strand; empty once the context has ended.
    asio::any_io_executor strand_if_any() const {
        return deserted() ? asio::any_io_executor() : strand();
    }
    /// Begins a task. If the context has ended, it is dropped.
    void begin(std::shared_ptr<server_task> task);
    /// Stops the session and completes the handler when that is done.
    void stop(coro::detail::completion<void(error_code)> done);
    /// Stops at once, for nobody, when the session is destroyed.
    void end() noexcept { stop_unheard(); }

    const asio::any_io_executor& strand() const noexcept { return background_core::strand(); }
    server_pool& pool() noexcept { return *pool_; }
    server_place& place() const noexcept { return *place_; }
    const server_limits& limits() const noexcept { return place_->limits(); }
    coro::time_source& time() const noexcept { return *time_; }
    std::uint64_t draw_seed() noexcept { return ++seed_; }
    /// Keeps a connection that must end what it has prepared; not for long, since nobody else can
    /// end that meanwhile.
    void keep_prepared(const prepared_name& name, const server_pool::connection& by);
    /// Takes it out. Null if there is none.
    server_pool::connection take_prepared(const prepared_name& name);
    /// Takes a task off the list, at its end.
    void ended(const std::shared_ptr<server_task>& task);

    struct counters {
        std::atomic<std::uint64_t> abandoned{0};
        std::atomic<std::uint64_t> committed{0};
        std::atomic<std::uint64_t> prepared{0};
        std::atomic<std::uint64_t> rolled_back{0};
        std::atomic<std::uint64_t> repeated{0};
        std::atomic<std::uint64_t> commits_unknown{0};
        std::atomic<std::uint64_t> cancelled{0};
    };
    counters counts;

private:
    friend class coro::detail::background_core<server_session>;

    void start() {}
    void begin_stop(bool at_once);
    void drop() noexcept;
    void end_if_idle();
    void let_go_of_prepared();

    struct kept_connection {
        server_pool::connection by;
        coro::detail::alarm limit;
    };

    const std::shared_ptr<server_place> place_;
    const std::shared_ptr<coro::time_source> time_;
    std::atomic<std::uint64_t> seed_;
    const std::shared_ptr<pool_counts> sizes_;
    std::shared_ptr<server_pool> pool_;  ///< Null once the context has ended.
    std::set<std::shared_ptr<server_task>> tasks_;
    std::map<prepared_name, kept_connection> prepared_;
    bool stopping_ = false;
    bool closed_ = false;  ///< The pool has no connection any longer.
    coro::detail::wait_list<> until_ended_;
    bool ended_ = false;  ///< Under the mutex of `until_ended_`.
};

}  // namespace mortise::db::detail

#endif
