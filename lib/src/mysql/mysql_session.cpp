// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_session.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/defaults.hpp"
#include "mysql/mysql_call.hpp"
#include "mysql/mysql_failure.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <new>
#include <utility>

namespace mortise::db::detail {

using coro::detail::with_code;

namespace {

error_code code_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& thrown) {
        return thrown.code();
    } catch (...) {
        return {};
    }
}

[[noreturn]] void abort() {
    throw boost::system::system_error(asio::error::operation_aborted);
}

}  // namespace

mysql_lease::mysql_lease(std::shared_ptr<mysql_session> session, turn mine) noexcept
    : turn_(std::move(mine)), session_(std::move(session)) {}

mysql_lease::~mysql_lease() = default;

void mysql_lease::keep() noexcept {
    auto wire = std::move(wire_);
    if (wire && wire->usable())
        session_->put_back(std::move(wire));
    turn_ = turn();
}

mysql_session::mysql_session(asio::any_io_executor executor, mysql_config config)
    : seat_(std::move(executor)),
      place_(std::make_shared<mysql_place>(seat_.executor(), std::move(config))),
      counts_(std::make_shared<mysql_counts>()),
      turns_(std::make_shared<turn_queue>(place_->config.connections_max)),
      seed_(mortise::detail::seed_or_random(place_->config.jitter_seed)) {}

mysql_session::~mysql_session() {
    coro::detail::wait_service::unlink(*this);
    leave_to_parent();
}

// In a forked child the sockets, and the set in which they are watched, are the parent's: to close
// one here would take it out of that set.
void mysql_session::leave_to_parent() noexcept {
    if (!seat_.forked())
        return;
    for (auto& each : idle_)
        static_cast<void>(new (std::nothrow) std::shared_ptr<mysql_wire>(std::move(each)));
    idle_.clear();
}

void mysql_session::attach() {
    if (!seat_.take(shared_from_this()))
        shut_down();
}

// Connections must be gone before the context is. Those in use are destroyed with the coroutines
// that use them.
void mysql_session::shut_down() noexcept {
    if (seat_.forked())
        return;
    std::vector<std::shared_ptr<mysql_wire>> gone;
    {
        std::lock_guard hold(mutex_);
        stopped_ = true;
        gone.swap(idle_);
    }
    seat_.leave();
}

mysql_stats mysql_session::stats() const {
    mysql_stats result;
    {
        std::lock_guard hold(mutex_);
        result.idle = idle_.size();
    }
    result.in_use = turns_->taken();
    result.waiting = turns_->waiting();
    result.connections_opened = counts_->opened;
    result.connections_failed = counts_->failed;
    result.connections_abandoned = counts_->abandoned;
    result.committed = counts_->committed;
    result.rolled_back = counts_->rolled_back;
    result.repeated = counts_->repeated;
    result.commits_unknown = counts_->unknown;
    result.cancelled = counts_->cancelled;
    return result;
}

asio::awaitable<mysql_lease> mysql_session::take() {
    const auto self = shared_from_this();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto waiting = turns_->async_take(executor, asio::cancel_after(config().wait_max, with_code));
    auto taken = co_await std::move(waiting);
    if (std::get<0>(taken)) {
        const auto state = co_await asio::this_coro::cancellation_state;
        if (stopped() || state.cancelled() != asio::cancellation_type::none)
            abort();
        throw error(errc::no_connection_free, place_->name(), {});
    }
    mysql_lease lease(self, std::move(std::get<1>(taken)));
    while (auto wire = pop_idle()) {
        lease.set(wire);
        if (clock::now() - wire->idle_since < config().check_after)
            co_return lease;
        auto asking = wire->answers(config().connect_max);
        if (co_await std::move(asking))
            co_return lease;
    }
    auto connecting = connect();
    auto fresh = co_await std::move(connecting);
    lease.set(std::move(fresh));
    co_return lease;
}

asio::awaitable<std::shared_ptr<mysql_wire>> mysql_session::connect() {
    if (seat_.deserted())
        abort();
    auto wire = std::make_shared<mysql_wire>(executor(), place_, counts_);
    auto opening = wire->open(config().connect_max);
    const auto failed = co_await std::move(opening);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (failed.code && state.cancelled() != asio::cancellation_type::none)
        abort();
    if (failed.code)
        throw wire->explain(failed);
    co_return wire;
}

bool mysql_session::outlived(const mysql_wire& wire) const {
    return clock::now() - wire.opened_at > config().lifetime_max;
}

std::shared_ptr<mysql_wire> mysql_session::pop_idle() {
    std::vector<std::shared_ptr<mysql_wire>> old;
    std::shared_ptr<mysql_wire> found;
    {
        std::lock_guard hold(mutex_);
        while (!idle_.empty() && !found) {
            auto last = std::move(idle_.back());
            idle_.pop_back();
            (outlived(*last) ? old.emplace_back() : found) = std::move(last);
        }
    }
    close(std::move(old));
    return found;
}

void mysql_session::put_back(std::shared_ptr<mysql_wire> wire) noexcept {
    wire->idle_since = clock::now();
    bool keeps = false;
    {
        std::lock_guard hold(mutex_);
        keeps = !stopped_ && !outlived(*wire);
        if (keeps)
            idle_.push_back(wire);
    }
    if (!keeps)
        close({std::move(wire)});
}

void mysql_session::stop() noexcept {
    if (seat_.forked())
        return;
    std::vector<std::shared_ptr<mysql_wire>> gone;
    {
        std::lock_guard hold(mutex_);
        stopped_ = true;
        gone.swap(idle_);
    }
    turns_->close();
    close(std::move(gone));
}

// Takes leave of the server, for nobody; a server that hears nothing logs an aborted connection.
void mysql_session::close(std::vector<std::shared_ptr<mysql_wire>> wires) noexcept {
    for (auto& each : wires) {
        if (seat_.deserted() || !each->usable())
            continue;
        auto closing = [](std::shared_ptr<mysql_wire> wire) -> asio::awaitable<void> {
            auto leaving = wire->close();
            co_await std::move(leaving);
        };
        asio::co_spawn(seat_.strand(), closing(std::move(each)), asio::detached);
    }
}

bool mysql_session::stopped() const {
    std::lock_guard hold(mutex_);
    return stopped_;
}

asio::awaitable<query_result> mysql_session::run(bound_sql statement) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto taking = take();
    mysql_lease lease = co_await std::move(taking);
    const auto wire = lease.wire();
    auto asking = start_call(executor, wire, std::move(statement), with_code);
    auto answer = co_await std::move(asking);
    lease.keep();
    if (const auto& failure = std::get<0>(answer)) {
        // Whether the statement was done before the connection ended, nobody can say.
        if (code_of(failure) == errc::store_unavailable) {
            throw error(
                errc::outcome_unknown, place_->name(), "look whether the statement was done"
            );
        }
        std::rethrow_exception(failure);
    }
    co_return std::move(std::get<1>(answer));
}

asio::awaitable<void> mysql_session::make_outcome_table() {
    auto connecting = connect();
    const auto wire = co_await std::move(connecting);
    std::vector<std::string> statements = {
        "CREATE TABLE IF NOT EXISTS `" + config().outcome_table +
        "` (number BIGINT UNSIGNED NOT NULL PRIMARY KEY, committed TINYINT NOT NULL, "
        "begun TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, KEY (begun)) ENGINE=InnoDB"};
    auto making = wire->run(std::move(statements), config().answer_max);
    const auto failed = co_await std::move(making);
    auto closing = wire->close();
    co_await std::move(closing);
    if (failed.code)
        throw wire->explain(failed);
}

}  // namespace mortise::db::detail
