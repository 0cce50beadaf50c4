// SPDX-License-Identifier: BSL-1.0
#include "relay/relay_core.hpp"

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/error.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/store_types.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace mortise::outbox::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds stop_grace{5'000};
constexpr std::size_t due_at_once = 1'000;

}  // namespace

relay_core::relay_core(asio::any_io_executor executor, relay_config config)
    : seat_(std::move(executor), coro::detail::strand_seat::work::not_counted),
      config_(std::move(config)),
      time_(config_.time ? config_.time : mortise::detail::make_real_time(seat_.executor())),
      listening_(seat_.executor()),
      seed_(config_.jitter_seed != 0 ? config_.jitter_seed : random_id::draw().low) {
    work_.emplace(seat_.strand());
    session();
}

relay_core::~relay_core() = default;

void relay_core::attach() {
    if (!seat_.take(shared_from_this()))
        return shut_down();
    asio::dispatch(seat_.strand(), [self = shared_from_this()] { self->start(); });
}

// The context is being destroyed: drop every handler without calling it, and post nothing.
void relay_core::shut_down() noexcept {
    if (seat_.forked())
        return;
    closed_ = stopping_ = true;
    const auto drains = std::exchange(drains_, drain_list());
    const auto stoppers = std::exchange(stoppers_, {});
    alarm_.cancel();
    stop_alarm_.cancel();
    bell_.reset();
    session_.reset();
    runners_.clear();
    work_.reset();
    seat_.leave();
}

void relay_core::start() {
    if (closed_)
        return;
    if (config_.locks && config_.share_every.count() > 0) {
        ++running_;
        asio::co_spawn(
            seat_.strand(),
            share(),
            asio::bind_cancellation_slot(
                stop_sharing_.slot(),
                [self = shared_from_this()](const std::exception_ptr&) { self->ended(); }
            )
        );
    }
    ++running_;
    asio::co_spawn(
        seat_.strand(),
        keep(),
        asio::bind_cancellation_slot(
            stop_keeping_.slot(),
            [self = shared_from_this()](const std::exception_ptr&) { self->ended(); }
        )
    );
}

asio::awaitable<void> relay_core::share() {
    const auto self = shared_from_this();
    auto sharing = sharing_.run();
    co_await std::move(sharing);
}

std::uint64_t relay_core::draw_seed() {
    return ++seed_;
}

std::shared_ptr<db::sqlite> relay_core::session() {
    if (session_ && session_->poisoned())
        log_->suspect();  // A new session would sync a log whose pages the kernel may have dropped.
    if (!session_ || session_->poisoned()) {
        db::sqlite_config config;
        config.path = config_.database;
        config.vfs = config_.vfs;
        session_ = std::make_shared<db::sqlite>(seat_.executor(), std::move(config));
    }
    return session_;
}

asio::awaitable<void> relay_core::restore_log() {
    const auto current = session();
    if (!log_->is_suspect())
        co_return;
    const auto work = [log = log_](db::connection& on) { log->write_anew(on); };
    auto writing = current->async_run(work, db::durability::force);
    co_await std::move(writing);
}

// Does the work that concerns all shards: finds the shards, and moves messages that became due.
asio::awaitable<void> relay_core::keep() {
    const auto self = shared_from_this();
    coro::backoff_options limits;
    limits.first = config_.retry_first;
    limits.max = config_.retry_max;
    coro::backoff pauses(limits, draw_seed());
    while (!stopping_) {
        relay_event trouble;
        trouble.type = relay_event::kind::failed;
        try {
            auto once = keep_once();
            co_await std::move(once);
            pauses.reset();
            continue;
        } catch (const boost::system::system_error& failed) {
            trouble.code = failed.code();
            trouble.text = failed.what();
        } catch (const std::exception& failed) {
            trouble.code = coro::errc::work_threw;
            trouble.text = failed.what();
        } catch (...) {
            trouble.code = coro::errc::work_threw;
        }
        if (stopping_)
            break;
        tell(trouble);
        look_ = true;
        auto sleeping = coro::sleep_for(*time_, pauses.next());
        co_await std::move(sleeping);
    }
}

asio::awaitable<void> relay_core::keep_once() {
    if (!opened_) {
        auto opening = open();
        co_await std::move(opening);
    }
    work_->reset();
    if (std::exchange(look_, false) || !drains_.empty()) {
        const std::size_t early = drains_.count_early();  // Later handlers need a later look.
        const auto work = [](db::connection& on) { return table::open_shards(on); };
        auto reading = session()->async_read(work);
        const auto found = co_await std::move(reading);
        for (const auto& each : found)
            add_runner(each.shard);
        drains_.marks_seen(found);
        begin_drains(early, found);
    }
    if (std::exchange(look_for_commits_, false)) {
        auto looking = look_for_commits();
        co_await std::move(looking);
    }
    if (due_ && *due_ <= wall_now()) {
        const auto work = [](db::connection& on) {
            table::move_due(on, wall_now(), due_at_once);
            return table::next_due(on);
        };
        auto moving = session()->async_run(work, db::durability::force);
        due_ = co_await std::move(moving);
        news();
        co_return;
    }
    if (due_) {
        const std::chrono::microseconds left(*due_ - wall_now());
        alarm_.set(*time_, seat_.strand(), time_->now() + left, [this] { work_->set(); });
    }
    auto waiting = work_->async_wait();
    co_await std::move(waiting);
    alarm_.cancel();
}

asio::awaitable<void> relay_core::open() {
    const auto work = [](db::connection& on) {
        table::make(on);
        return table::id_of(on);
    };
    auto making = session()->async_run(work, db::durability::force);
    table_id_ = co_await std::move(making);
    db::bell_pulse pulse(config_.look_every, [this] {
        look_for_commits_ = true;
        work_->set();
    });
    bell_.emplace(
        seat_.strand(), config_.database, [this] { news(); }, std::move(pulse)
    );
    opened_ = true;
    listening_.set();
}

// Finds commits whose writer died before it rang.
asio::awaitable<void> relay_core::look_for_commits() {
    const auto current = session();
    const auto work = [](db::connection& on) {
        auto row = on.query("PRAGMA data_version");
        return row.step() ? row.integer(0) : 0;
    };
    auto reading = current->async_read(work);
    const std::int64_t version = co_await std::move(reading);
    // A data version means nothing in another session.
    const bool known = looked_at_.lock() == current && seen_version_ == version;
    looked_at_ = current;
    seen_version_ = version;
    if (!known)
        news();
}

void relay_core::add_runner(std::uint32_t shard) {
    if (runners_.count(shard) != 0 || stopping_)
        return;
    const auto runner = std::make_shared<shard_runner>(*this, shard);
    runners_.emplace(shard, runner);
    ++running_;
    asio::co_spawn(
        seat_.strand(),
        runner->run(),
        asio::bind_cancellation_slot(
            runner->slot(),
            [self = shared_from_this(), runner](const std::exception_ptr&) { self->ended(); }
        )
    );
}

// One of the coroutines has ended. A runner stays in `runners_` after its shard is done.
void relay_core::ended() {
    --running_;
    look_for_shards();
    end_stop();
}

void relay_core::news() {
    for (const auto& [shard, each] : runners_)
        each->news();
    if (!drains_.empty() && work_)
        work_->set();
}

void relay_core::look_for_shards() {
    look_ = true;
    if (work_)
        work_->set();
}

void relay_core::due_at(std::optional<std::int64_t> when) {
    if (std::exchange(due_, when) != when && work_)
        work_->set();
}

void relay_core::wait_listening(code_handler handler) {
    if (seat_.deserted())
        return;
    const auto slot = handler.release_slot();
    auto then = [self = shared_from_this(),
                 handler = std::move(handler)](error_code failed) mutable {
        handler.complete(failed || !self->stopping_ ? failed : error_code(errc::stopped));
    };
    listening_.async_wait(
        asio::bind_cancellation_slot(slot, asio::bind_executor(seat_.strand(), std::move(then)))
    );
}

void relay_core::drained(code_handler handler) {
    if (seat_.deserted())
        return;
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), handler = std::move(handler)]() mutable {
            if (self->stopping_)
                return handler.complete(errc::stopped);
            // Look for shards first: an append does not add shards, but this table may be new.
            self->drains_.add_early(std::move(handler));
            self->look_for_shards();
        }
    );
}

void relay_core::begin_drains(std::size_t count, const std::vector<table::open_shard>& shards) {
    for (auto& handler : drains_.take_early(count)) {
        drain_list::waits waits;
        for (const auto& each : shards) {
            const auto runner = runners_.find(each.shard);
            if (runner == runners_.end() || runner->second->done())
                continue;
            // With locks another relay may own the shard, and then looks for the topics itself.
            const bool ours = !config_.locks || runner->second->holds();
            waits.emplace(each.shard, drain_list::wanted{reads_, each.last, each.away && ours});
        }
        const bool any = !waits.empty();
        drains_.add(std::move(handler), std::move(waits));
        if (any)
            news();
    }
}

void relay_core::stop(code_handler handler) {
    if (seat_.deserted())
        return;
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), handler = std::move(handler)]() mutable {
            self->stoppers_.push_back(std::move(handler));
            self->begin_stop(false);
        }
    );
}

void relay_core::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (seat_.deserted())
        return;
    asio::dispatch(seat_.strand(), [self = shared_from_this()] {
        self->closed_ = true;
        self->begin_stop(true);
    });
}

void relay_core::begin_stop(bool at_once) {
    if (!std::exchange(stopping_, true)) {
        drains_.answer(errc::stopped);
        listening_.set();  // So that no waiter waits for ever.
        stop_keeping_.emit(asio::cancellation_type::terminal);
        stop_sharing_.emit(asio::cancellation_type::terminal);
        if (!at_once)
            stop_alarm_.set(*time_, seat_.strand(), time_->now() + stop_grace, [this] {
                begin_stop(true);
            });
    }
    for (const auto& [shard, each] : runners_)
        each->stop(at_once);
    end_stop();
}

void relay_core::end_stop() {
    if (!stopping_ || running_ > 0 || closing_)
        return;
    alarm_.cancel();
    stop_alarm_.cancel();
    bell_.reset();
    if (const auto last = std::exchange(session_, nullptr)) {
        // Closing the files blocks, so the session does it on its own thread; stoppers wait for
        // that.
        closing_ = true;
        last->async_stop(asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(), last](error_code) {
                self->closing_ = false;
                self->answer_stoppers();
            }
        ));
        return;
    }
    answer_stoppers();
}

void relay_core::answer_stoppers() {
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(error_code());
}

}  // namespace mortise::outbox::detail
