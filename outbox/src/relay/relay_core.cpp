// SPDX-License-Identifier: BSL-1.0
#include "relay/relay_core.hpp"

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/error.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "table/shards.hpp"
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
    : background_core(std::move(executor), coro::detail::strand_seat::work::not_counted),
      context_(this->executor(), strand(), std::move(config)),
      listening_(this->executor()) {}

relay_core::~relay_core() = default;

void relay_core::drop() noexcept {
    closed_ = true;
    context_.set_stopping();
    const auto drains = std::exchange(context_.drains(), drain_list());
    alarm_.cancel();
    stop_alarm_.cancel();
    bell_.reset();
    context_.take_session().reset();
    runners_.clear();
    context_.drop_wake();
}

void relay_core::start() {
    if (closed_)
        return;
    if (context_.config().locks && context_.config().share_every.count() > 0) {
        ++running_;
        asio::co_spawn(
            strand(),
            share(),
            asio::bind_cancellation_slot(
                stop_sharing_.slot(),
                [self = shared_from_this()](const std::exception_ptr&) { self->ended(); }
            )
        );
    }
    ++running_;
    asio::co_spawn(
        strand(),
        keep(),
        asio::bind_cancellation_slot(
            stop_keeping_.slot(),
            [self = shared_from_this()](const std::exception_ptr&) { self->ended(); }
        )
    );
}

asio::awaitable<void> relay_core::share() {
    const auto self = shared_from_this();
    co_await sharing_.run();
}

// Does the work that concerns all shards: finds the shards, and moves messages that became due.
asio::awaitable<void> relay_core::keep() {
    const auto self = shared_from_this();
    const coro::backoff_options limits{context_.config().retry_first, context_.config().retry_max};
    coro::backoff pauses(limits, context_.draw_seed());
    while (!context_.stopping()) {
        relay_event trouble;
        trouble.type = relay_event::kind::failed;
        try {
            co_await keep_once();
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
        if (context_.stopping())
            break;
        context_.tell(trouble);
        context_.look_for_shards();
        co_await coro::sleep_for(context_.time(), pauses.next());
    }
}

asio::awaitable<void> relay_core::keep_once() {
    if (!opened_) {
        co_await open();
    }
    context_.woken().reset();
    if (context_.take_look() || !context_.drains().empty()) {
        // Later handlers need a later look.
        const std::size_t early = context_.drains().count_early();
        const auto work = [](db::connection& on) { return table::open_shards(on); };
        const auto found = co_await context_.session()->async_read(work);
        for (const auto& each : found)
            add_runner(each.shard);
        context_.drains().marks_seen(found);
        begin_drains(early, found);
    }
    if (std::exchange(look_for_commits_, false)) {
        co_await look_for_commits();
    }
    if (context_.due() && *context_.due() <= wall_now()) {
        const auto work = [](db::connection& on) {
            table::move_due(on, wall_now(), due_at_once);
            return table::next_due(on);
        };
        context_.set_due(co_await context_.session()->async_run(work, db::durability::force));
        news();
        co_return;
    }
    if (context_.due()) {
        const std::chrono::microseconds left(*context_.due() - wall_now());
        alarm_.set(context_.time(), strand(), context_.time().now() + left, [this] {
            context_.wake();
        });
    }
    co_await context_.woken().async_wait();
    alarm_.cancel();
}

asio::awaitable<void> relay_core::open() {
    const auto work = [](db::connection& on) {
        table::make(on);
        return table::id_of(on);
    };
    context_.set_table_id(co_await context_.session()->async_run(work, db::durability::force));
    db::bell_pulse pulse(context_.config().look_every, [this] {
        look_for_commits_ = true;
        context_.wake();
    });
    bell_.emplace(
        strand(), context_.config().database, [this] { news(); }, std::move(pulse)
    );
    opened_ = true;
    listening_.set();
}

// Finds commits whose writer died before it rang.
asio::awaitable<void> relay_core::look_for_commits() {
    const auto current = context_.session();
    const auto work = [](db::connection& on) {
        auto row = on.query("PRAGMA data_version");
        return row.step() ? row.integer(0) : 0;
    };
    const std::int64_t version = co_await current->async_read(work);
    // A data version means nothing in another session.
    const bool known = looked_at_.lock() == current && seen_version_ == version;
    looked_at_ = current;
    seen_version_ = version;
    if (!known)
        news();
}

void relay_core::add_runner(std::uint32_t shard) {
    if (runners_.count(shard) != 0 || context_.stopping())
        return;
    const auto runner = std::make_shared<shard_runner>(context_, shard);
    runners_.emplace(shard, runner);
    ++running_;
    asio::co_spawn(
        strand(),
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
    context_.look_for_shards();
    end_stop();
}

void relay_core::news() {
    for (const auto& [shard, each] : runners_)
        each->news();
    if (!context_.drains().empty())
        context_.wake();
}

void relay_core::wait_listening(code_handler handler) {
    if (deserted())
        return;
    const auto slot = handler.release_slot();
    auto then = [self = shared_from_this(),
                 handler = std::move(handler)](error_code failed) mutable {
        handler.complete(failed || !self->context_.stopping() ? failed : error_code(errc::stopped));
    };
    listening_.async_wait(
        asio::bind_cancellation_slot(slot, asio::bind_executor(strand(), std::move(then)))
    );
}

void relay_core::drained(code_handler handler) {
    if (deserted())
        return;
    asio::dispatch(strand(), [self = shared_from_this(), handler = std::move(handler)]() mutable {
        if (self->context_.stopping())
            return handler.complete(errc::stopped);
        // Look for shards first: an append does not add shards, but this table may be new.
        self->context_.drains().add_early(std::move(handler));
        self->context_.look_for_shards();
    });
}

void relay_core::begin_drains(std::size_t count, const std::vector<table::open_shard>& shards) {
    for (auto& handler : context_.drains().take_early(count)) {
        drain_list::waits waits;
        for (const auto& each : shards) {
            const auto runner = runners_.find(each.shard);
            if (runner == runners_.end() || runner->second->done())
                continue;
            // With locks another relay may own the shard, and then looks for the topics itself.
            const bool ours = !context_.config().locks || runner->second->holds();
            waits.emplace(
                each.shard, drain_list::wanted{context_.last_read(), each.last, each.away && ours}
            );
        }
        const bool any = !waits.empty();
        context_.drains().add(std::move(handler), std::move(waits));
        if (any)
            news();
    }
}

void relay_core::lag(lag_handler handler) {
    if (deserted())
        return;
    asio::dispatch(strand(), [self = shared_from_this(), handler = std::move(handler)]() mutable {
        if (self->context_.stopping())
            return handler.complete(errc::stopped, relay_lag());
        self->read_lag(std::move(handler));
    });
}

void relay_core::read_lag(lag_handler handler) {
    std::map<std::uint32_t, std::int64_t> sent;
    for (const auto& each : context_.status()) {
        if (each.at == shard_status::state::sending || each.at == shard_status::state::idle)
            sent.emplace(each.shard, each.last.row);
    }
    auto look = [sent = std::move(sent)](db::connection& on) {
        table::require(on);
        return table::lag_after(on, sent);
    };
    auto then = [handler = std::move(handler)](error_code failed, relay_lag found) mutable {
        handler.complete(failed, found);
    };
    std::shared_ptr<db::sqlite> from;
    try {
        from = context_.session();
    } catch (const boost::system::system_error& failed) {
        return then(failed.code(), relay_lag());
    }
    from->async_read(std::move(look), asio::bind_executor(strand(), std::move(then)));
}

void relay_core::begin_stop(bool at_once) {
    closed_ = closed_ || at_once;
    if (!context_.set_stopping()) {
        context_.drains().answer(errc::stopped);
        listening_.set();  // So that no waiter waits for ever.
        stop_keeping_.emit(asio::cancellation_type::terminal);
        stop_sharing_.emit(asio::cancellation_type::terminal);
        if (!at_once)
            stop_alarm_.set(context_.time(), strand(), context_.time().now() + stop_grace, [this] {
                begin_stop(true);
            });
    }
    for (const auto& [shard, each] : runners_)
        each->stop(at_once);
    end_stop();
}

void relay_core::end_stop() {
    if (!context_.stopping() || running_ > 0 || closing_)
        return;
    alarm_.cancel();
    stop_alarm_.cancel();
    bell_.reset();
    if (const auto last = context_.take_session()) {
        // Closing the files blocks, so the session does it on its own thread; stoppers wait for
        // that.
        closing_ = true;
        last->async_stop(asio::bind_executor(
            strand(),
            [self = shared_from_this(), last](error_code) {
                self->closing_ = false;
                self->answer_stoppers();
            }
        ));
        return;
    }
    answer_stoppers();
}

}  // namespace mortise::outbox::detail
