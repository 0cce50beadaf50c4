// SPDX-License-Identifier: BSL-1.0
#include "db/server_session.hpp"

#include "db/server_task.hpp"
#include "mortise/db/server_database.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"

#include <chrono>
#include <utility>

namespace mortise::db::detail {

using coro::detail::wait_outcome;
using std::chrono::milliseconds;

void require_limits(const server_limits& limits) {
    using mortise::detail::require;
    constexpr milliseconds day = std::chrono::hours(24);
    constexpr std::size_t connections_max = 1'000;
    const auto within = [](milliseconds least, milliseconds value, milliseconds most) {
        return value >= least && value <= most;
    };
    require(
        limits.connections_max >= 1 && limits.connections_max <= connections_max,
        "connections_max",
        "use 1 to 1,000"
    );
    for (const auto& [name, limit] :
         {std::pair("connect_max", limits.connect_max),
          std::pair("cancel_max", limits.cancel_max),
          std::pair("answer_max", limits.answer_max),
          std::pair("prepared_max", limits.prepared_max)})
        require(within(milliseconds(1), limit, day), name, "use 1 ms to one day");
    require(within(milliseconds(0), limits.wait_max, day), "wait_max", "use up to one day");
    require(within(milliseconds(0), limits.check_after, day), "check_after", "use up to one day");
    require(
        within(milliseconds(1), limits.lifetime_max, day * 365),
        "lifetime_max",
        "use 1 ms to one year"
    );
}

server_session::server_session(asio::any_io_executor executor, std::shared_ptr<server_place> place)
    : background_core(std::move(executor)),
      place_(std::move(place)),
      time_(mortise::detail::time_or_real(place_->limits().time, this->executor())),
      seed_(mortise::detail::seed_or_random(place_->limits().jitter_seed)),
      sizes_(std::make_shared<pool_counts>()),
      pool_(std::make_shared<server_pool>(strand(), place_, time_, sizes_)) {}

server_session::~server_session() {
    if (pool_)
        pool_->drop();
}

void server_session::begin(std::shared_ptr<server_task> task) {
    post([self = shared_from_this(), task = std::move(task)] {
        if (self->stopping_)
            return task->refuse();
        self->tasks_.insert(task);
        task->begin();
    });
}

void server_session::keep_prepared(const prepared_name& name, const server_pool::connection& by) {
    if (stopping_)
        return pool_->give_back(by);
    pool_->give_back(take_prepared(name));  // somebody else has ended what an earlier one held
    auto& kept = prepared_[name];
    kept.by = by;
    kept.limit.set(
        *time_,
        strand(),
        time_->now() + limits().prepared_max,
        [weak = weak_from_this(), name] {
            if (const auto self = weak.lock())
                self->pool_->give_back(self->take_prepared(name));
        }
    );
}

server_pool::connection server_session::take_prepared(const prepared_name& name) {
    auto taken = prepared_.extract(name);
    if (taken.empty())
        return nullptr;
    taken.mapped().limit.cancel();
    return std::move(taken.mapped().by);
}

// They are closed, and then any other connection can end what they have prepared.
void server_session::let_go_of_prepared() {
    const auto all = std::exchange(prepared_, {});
    for (const auto& [name, each] : all)
        pool_->give_back(each.by);
}

void server_session::ended(const std::shared_ptr<server_task>& task) {
    tasks_.erase(task);
    end_if_idle();
}

void server_session::stop(coro::detail::completion<void(error_code)> done) {
    if (deserted())
        return;
    const auto outcome = until_ended_.wait_unless(done, [this] { return ended_; });
    if (outcome == wait_outcome::ready)
        return done.complete(error_code());
    if (outcome == wait_outcome::closed)
        return until_ended_.abort(std::move(done));
    post([self = shared_from_this()] { self->begin_stop(false); });
}

void server_session::begin_stop(bool at_once) {
    if (!std::exchange(stopping_, true)) {
        pool_->stop([weak = weak_from_this()] {
            if (const auto self = weak.lock()) {
                self->closed_ = true;
                self->end_if_idle();
            }
        });
        let_go_of_prepared();
    }
    if (at_once)
        pool_->close_all({errc::store_unavailable, "the session was destroyed"});
    end_if_idle();
}

void server_session::end_if_idle() {
    if (stopping_ && closed_ && tasks_.empty())
        until_ended_.complete_all_after([this] { ended_ = true; }, error_code());
}

void server_session::drop() noexcept {
    const auto tasks = std::exchange(tasks_, {});
    const auto pool = std::exchange(pool_, nullptr);  // it has the strand
    prepared_.clear();
    pool->drop();
    for (const auto& each : tasks)
        each->drop();
    until_ended_.close();  // who waits in this context is gone already
}

server_stats server_session::stats() const noexcept {
    server_stats now;
    now.connections_opened = sizes_->opened;
    now.connections_failed = sizes_->failed;
    now.connections_abandoned = counts.abandoned;
    now.committed = counts.committed;
    now.prepared = counts.prepared;
    now.rolled_back = counts.rolled_back;
    now.repeated = counts.repeated;
    now.commits_unknown = counts.commits_unknown;
    now.cancelled = counts.cancelled;
    now.connections = sizes_->connections;
    now.idle = sizes_->idle;
    now.in_use = now.connections > now.idle ? now.connections - now.idle : 0;
    now.waiting = sizes_->waiting;
    return now;
}

server_handle::server_handle(std::shared_ptr<server_session> session)
    : session_(std::move(session)) {
    session_->attach();
}

server_handle::server_handle(server_handle&&) noexcept = default;
server_handle& server_handle::operator=(server_handle&& other) noexcept {
    server_handle taken(std::move(other));
    session_.swap(taken.session_);
    return *this;
}

server_handle::~server_handle() {
    if (session_)
        session_->end();
}

server_handle::executor_type server_handle::get_executor() const noexcept {
    return session()->executor();
}

server_stats server_handle::stats() const noexcept {
    return session()->stats();
}

void server_handle::start_outcome(
    coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
    std::shared_ptr<server_session> session,
    transaction_mark mark
) {
    session->place().look_up(std::move(done), session, std::move(mark));
}

void server_handle::start_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<server_session> session
) {
    session->stop(std::move(done));
}

}  // namespace mortise::db::detail
