// SPDX-License-Identifier: BSL-1.0
#include "inbox/inbox_core.hpp"

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/options.hpp"
#include "wall_clock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace mortise::outbox::detail {
namespace {

using coro::detail::with_code;
using mortise::detail::require;
using mortise::detail::require_retry_limits;
using std::chrono::milliseconds;

constexpr std::size_t name_max = 255;

inbox_config checked(inbox_config config) {
    require(!config.name.empty() && config.name.size() <= name_max, "name", "use 1 to 255 bytes");
    require(config.handler != nullptr, "handler", "say what is to be done with messages");
    require(
        config.window >= milliseconds(1) && config.window <= duration_max,
        "window",
        "use one millisecond to a hundred years"
    );
    require(
        config.attempts_max >= 1 && config.attempts_max <= 1'000'000,
        "attempts_max",
        "use 1 to 1,000,000"
    );
    require_retry_limits(config.retry_first, config.retry_max);
    require(
        config.look_every >= milliseconds(1) && config.look_every <= std::chrono::hours(24),
        "look_every",
        "use one millisecond to one day"
    );
    return config;
}

std::uint64_t seed_of(const inbox_config& config) {
    return mortise::detail::seed_or_random(config.jitter_seed);
}

}  // namespace

inbox_core::inbox_core(
    asio::any_io_executor executor, std::shared_ptr<db::sqlite> session, inbox_config config
)
    : background_core(std::move(executor), coro::detail::strand_seat::work::not_counted),
      config_(checked(std::move(config))),
      time_(mortise::detail::time_or_real(config_.time, this->executor())),
      session_(std::move(session)),
      work_(std::make_shared<inbox_detail::inbox_work>(config_, seed_of(config_))),
      retries_(std::make_shared<inbox_detail::trial>()) {
    require(session_ != nullptr, "session", "open one with the database of the handler");
    wake_.emplace(strand());
}

inbox_core::~inbox_core() = default;

void inbox_core::drop() noexcept {
    stopping_ = true;
    alarm_.cancel();
    bell_.reset();
    wake_.reset();
}

void inbox_core::start() {
    if (stopping_)
        return end_stop();
    keeping_ = true;
    asio::co_spawn(
        strand(),
        keep(),
        asio::bind_cancellation_slot(
            stop_keeping_.slot(),
            [self = shared_from_this()](const std::exception_ptr&) {
                self->keeping_ = false;
                self->end_stop();
            }
        )
    );
}

// Tries failed messages again when they are due.
asio::awaitable<void> inbox_core::keep() {
    const auto self = shared_from_this();
    const coro::backoff_options limits{config_.retry_first, config_.retry_max};
    coro::backoff pauses(limits, seed_of(config_));
    while (!stopping_) {
        error_code failed;
        try {
            co_await keep_once();
            pauses.reset();
        } catch (const boost::system::system_error& wrong) {
            failed = wrong.code();
        }
        // A poisoned session stays so: its owner must replace it, together with the inbox.
        if (stopping_ || failed == mortise::errc::poisoned)
            co_return;
        if (failed) {
            co_await coro::sleep_for(*time_, pauses.next());
        }
    }
}

asio::awaitable<void> inbox_core::keep_once() {
    if (!bell_) {
        const auto wake = [this] { wake_->set(); };
        bell_.emplace(strand(), session_->path(), wake, db::bell_pulse(config_.look_every, wake));
    }
    wake_->reset();
    const auto look = [work = work_](db::connection& on) { return work->next_due(on); };
    const auto due = co_await session_->async_read(look);
    if (due && *due <= wall_now()) {
        const auto retry = [work = work_, tries = retries_](db::connection& on) {
            return work->retry(on, *tries);
        };
        const auto tried = co_await session_->async_run(retry, db::durability::force, with_code);
        const auto& [failed, result] = tried;
        if (failed && !retries_->learn(failed))
            throw boost::system::system_error(failed);
        if (!failed) {
            retries_->passed();
            note(result);
        }
        co_return;
    }
    if (due) {
        const std::chrono::microseconds left(std::max<std::int64_t>(*due - wall_now(), 0));
        alarm_.set(*time_, strand(), time_->now() + left, [this] { wake_->set(); });
    }
    co_await wake_->async_wait();
    alarm_.cancel();
}

error_code inbox_core::fault_of(const received& received) const {
    // The last possible offset has no successor that could be stored as the next one.
    constexpr auto offset_max = std::numeric_limits<std::int64_t>::max() - 1;
    if (inbox_detail::goes_by_offsets(config_.by) &&
        (received.source.empty() || received.source.size() > name_max || received.offset < 0 ||
         received.offset > offset_max))
        return errc::no_position;
    if (inbox_detail::goes_by_ids(config_.by) &&
        (received.message.id.empty() || received.message.id.size() > name_max))
        return errc::bad_message_id;
    return {};
}

void inbox_core::receive(std::vector<received> messages, code_handler handler) {
    if (deserted())
        return;
    for (const auto& each : messages) {
        if (const error_code fault = fault_of(each))
            return handler.complete(fault);
    }
    ++receiving_;  // Count before looking: a stop that is not seen here sees this count.
    if (stopping_) {
        handler.complete(errc::stopped);
        return asio::dispatch(strand(), [self = shared_from_this()] { self->received_one(); });
    }
    const auto slot = handler.release_slot();
    deliver(std::make_shared<delivery>(std::move(messages)), slot, std::move(handler));
}

void inbox_core::deliver(
    std::shared_ptr<delivery> batch, asio::cancellation_slot slot, code_handler handler
) {
    auto work = [work = work_, batch](db::connection& on) { return work->receive(on, *batch); };
    auto then = [self = shared_from_this(),
                 batch = std::move(batch),
                 handler = std::move(handler)](error_code failed, const report& result) mutable {
        self->delivered(std::move(batch), failed, result, std::move(handler));
    };
    session_->async_run(
        std::move(work),
        db::durability::force,
        asio::bind_cancellation_slot(slot, asio::bind_executor(strand(), std::move(then)))
    );
}

// Delivers again after a handler has spoiled the transaction, in the end without its message.
void inbox_core::delivered(
    std::shared_ptr<delivery> batch, error_code failed, const report& result, code_handler handler
) {
    bool again = failed && batch->tries.learn(failed);
    if (!failed) {
        note(result);
        batch->passed(result.reached, result.next);
        again = !batch->is_done();
    }
    if (again)
        return deliver(std::move(batch), {}, std::move(handler));
    handler.complete(failed);
    received_one();
}

void inbox_core::note(const report& result) {
    count_.handled += result.counts.handled;
    count_.repeated += result.counts.repeated;
    count_.refused += result.counts.refused;
    count_.failed += result.counts.failed;
    count_.parked += result.counts.parked;
    count_.retried += result.counts.retried;
    count_.waited += result.counts.waited;
    if (config_.observer) {
        for (const auto& each : result.events)
            config_.observer(each);
    }
    if (result.held && wake_)
        wake_->set();
}

void inbox_core::where(positions_handler handler) {
    if (deserted())
        return;
    if (stopping_)
        return handler.complete(errc::stopped, positions());
    const auto slot = handler.release_slot();
    const auto look = [work = work_](db::connection& on) { return work->positions(on); };
    auto then = [handler = std::move(handler)](error_code failed, positions found) mutable {
        handler.complete(failed, std::move(found));
    };
    session_->async_read(
        look, asio::bind_cancellation_slot(slot, asio::bind_executor(strand(), std::move(then)))
    );
}

void inbox_core::identify(identity_handler handler) {
    if (deserted())
        return;
    if (stopping_)
        return handler.complete(errc::stopped, std::string());
    const auto slot = handler.release_slot();
    const auto look = [work = work_](db::connection& on) { return work->identity(on); };
    auto then = [handler = std::move(handler)](error_code failed, std::string found) mutable {
        handler.complete(failed, std::move(found));
    };
    session_->async_run(
        look,
        db::durability::force,
        asio::bind_cancellation_slot(slot, asio::bind_executor(strand(), std::move(then)))
    );
}

void inbox_core::stop(code_handler handler) {
    stopping_ = true;
    background_core::stop(std::move(handler));
}

void inbox_core::close() noexcept {
    stopping_ = true;
    background_core::close();
}

void inbox_core::received_one() {
    --receiving_;
    end_stop();
}

void inbox_core::begin_stop(bool) {
    stop_keeping_.emit(asio::cancellation_type::terminal);
    end_stop();
}

void inbox_core::end_stop() {
    if (!stopping_ || keeping_ || receiving_ > 0)
        return;
    alarm_.cancel();
    bell_.reset();
    answer_stoppers();
}

inbox_stats inbox_core::stats() const noexcept {
    inbox_stats totals;
    totals.handled = count_.handled;
    totals.repeated = count_.repeated;
    totals.refused = count_.refused;
    totals.failed = count_.failed;
    totals.parked = count_.parked;
    totals.retried = count_.retried;
    totals.waited = count_.waited;
    return totals;
}

}  // namespace mortise::outbox::detail
