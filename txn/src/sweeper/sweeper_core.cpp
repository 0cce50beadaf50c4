// SPDX-License-Identifier: BSL-1.0
#include "sweeper/sweeper_core.hpp"

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/txn/error.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::txn::detail {
namespace {

using coro::detail::with_code;
using mortise::detail::require;
using std::chrono::milliseconds;

sweeper_config checked(sweeper_config config) {
    for (const auto span :
         {config.look_every,
          config.ask_pause,
          config.ask_max,
          config.retry_first,
          config.retry_max})
        require(
            span >= milliseconds(1) && span <= std::chrono::hours(24),
            "look_every, ask_pause, ask_max, retry_first, retry_max",
            "use one millisecond to one day"
        );
    require(
        config.retry_first <= config.retry_max,
        "retry_first, retry_max",
        "the first is not above the last"
    );
    require(config.look_max >= 1 && config.look_max <= 1'000'000, "look_max", "use 1 to 1,000,000");
    return config;
}

/// The result of one look at the database.
struct seen {
    std::vector<barrier::overdue_branch> overdue;
    std::optional<milliseconds> next;
};

/// One question to the coordinator, and the event for its answer.
struct question {
    explicit question(const asio::any_io_executor& on) : ready(on) {}

    coro::event ready;
    asio::cancellation_signal stop;
    result<standing> answer = error_code(errc::call_failed);
};

// Keeps the source alive while it is asked.
asio::awaitable<result<standing>> carry(std::shared_ptr<outcome_source> source, gid gid) {
    co_return co_await source->settle(gid);
}

}  // namespace

sweeper_core::sweeper_core(
    asio::any_io_executor executor,
    std::shared_ptr<db::sqlite> of,
    std::shared_ptr<outcome_source> asks,
    sweeper_config config
)
    : background_core(std::move(executor)),
      of_(std::move(of)),
      asks_(std::move(asks)),
      config_(checked(std::move(config))),
      time_(mortise::detail::time_or_real(config_.time, this->executor())),
      away_(limits(), config_.jitter_seed),
      seed_(mortise::detail::seed_or_random(config_.jitter_seed)) {
    require(of_ != nullptr, "of", "name a session");
    require(asks_ != nullptr, "asks", "name whom to ask");
}

sweeper_core::~sweeper_core() = default;

void sweeper_core::start() {
    running_ = true;
    asio::co_spawn(
        strand(),
        run(shared_from_this()),
        asio::bind_cancellation_slot(
            stop_.slot(), [self = shared_from_this()](const std::exception_ptr&) { self->ended(); }
        )
    );
}

void sweeper_core::drop() noexcept {
    stopping_ = true;
}

sweeper_stats sweeper_core::stats() const noexcept {
    const std::lock_guard hold(mutex_);
    return count_;
}

void sweeper_core::count(std::uint64_t sweeper_stats::*counter, std::uint64_t more) {
    const std::lock_guard hold(mutex_);
    count_.*counter += more;
}

void sweeper_core::stop(stop_handler done) {
    static_cast<void>(done.release_slot());
    if (deserted())
        return done.complete(error_code());
    background_core::stop(std::move(done));
}

void sweeper_core::close() noexcept {
    stop_unheard();
}

void sweeper_core::begin_stop(bool) {
    stopping_ = true;
    if (running_)
        stop_.emit(asio::cancellation_type::terminal);
    else
        ended();
}

void sweeper_core::ended() {
    running_ = false;
    coro::detail::wait_service::unlink(*this);
    asks_ = nullptr;
    answer_stoppers();
}

asio::awaitable<void> sweeper_core::run(std::shared_ptr<sweeper_core> self) {
    while (!self->stopping_) {
        clock::time_point next = co_await self->look();
        if (co_await self->ask_those_due()) {
            self->away_.reset();
            for (const auto& [gid, each] : self->waiting_)
                next = std::min(next, each.ask_at);
        } else {
            next = coro::saturating_add(self->time_->now(), self->away_.next());
        }
        co_await coro::sleep_until(*self->time_, next);
    }
}

/// @return when to look again.
asio::awaitable<clock::time_point> sweeper_core::look() {
    auto reading = [limit = config_.look_max](db::connection& on) {
        seen found;
        // In this order: each reads the clock, and what becomes overdue between them is not missed.
        found.next = barrier::next_overdue(on);
        found.overdue = barrier::overdue(on, limit);
        return found;
    };
    auto got = co_await of_->async_run(reading, db::durability::lazy, with_code);
    auto& [failed, found] = got;
    const auto usual = coro::saturating_add(time_->now(), config_.look_every);
    if (failed) {
        count(&sweeper_stats::looks_failed);
        co_return usual;
    }
    std::uint64_t this_look = 0;
    {
        const std::lock_guard hold(mutex_);
        this_look = ++count_.looks;
        count_.overdue = found.overdue.size();
    }
    for (const auto& each : found.overdue)
        waiting_.try_emplace(each.gid, limits(), draw()).first->second.seen = this_look;
    std::erase_if(waiting_, [this_look](const auto& each) {
        return each.second.seen != this_look;
    });
    if (!found.next)
        co_return usual;
    co_return std::min(usual, coro::saturating_add(time_->now(), *found.next));
}

/// @return false if nobody could be asked.
asio::awaitable<bool> sweeper_core::ask_those_due() {
    std::vector<gid> due;
    for (const auto& [gid, each] : waiting_) {
        if (each.ask_at <= time_->now())
            due.push_back(gid);
    }
    for (const auto& gid : due) {
        count(&sweeper_stats::asked);
        const auto answer = co_await ask(gid);
        if (!answer) {
            count(&sweeper_stats::unreachable);
            co_return false;
        }
        if (*answer == standing::never_existed)
            count(&sweeper_stats::unknown);
        auto& each = waiting_.at(gid);
        each.ask_at = coro::saturating_add(time_->now(), each.pause.next());
        co_await coro::sleep_for(*time_, config_.ask_pause);
    }
    co_return true;
}

asio::awaitable<result<standing>> sweeper_core::ask(gid gid) {
    const auto asked = std::make_shared<question>(strand());
    asio::co_spawn(
        strand(),
        carry(asks_, gid),
        asio::bind_cancellation_slot(
            asked->stop.slot(),
            [asked](const std::exception_ptr& thrown, const result<standing>& answer) {
                if (!thrown)
                    asked->answer = answer;
                asked->ready.set();
            }
        )
    );
    coro::detail::alarm too_late;
    const auto end = coro::saturating_add(time_->now(), config_.ask_max);
    too_late.set(*time_, strand(), end, [asked] {
        asked->stop.emit(asio::cancellation_type::terminal);
    });
    try {
        co_await asked->ready.async_wait();
    } catch (...) {
        asked->stop.emit(asio::cancellation_type::terminal);
        throw;
    }
    co_return asked->answer;
}

coro::backoff_options sweeper_core::limits() const noexcept {
    return {config_.retry_first, config_.retry_max};
}

std::uint64_t sweeper_core::draw() noexcept {
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
    return seed_ += step;
}

}  // namespace mortise::txn::detail
