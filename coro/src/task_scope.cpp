// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/task_scope.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/wait_list.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <list>
#include <utility>
#include <vector>

namespace mortise::coro {

namespace detail {

class task_scope_state : public std::enable_shared_from_this<task_scope_state> {
public:
    explicit task_scope_state(asio::any_io_executor executor)
        : executor_(std::move(executor)),
          ended_(wait_service::of(asio::query(executor_, asio::execution::context)).ended()) {}

    const asio::any_io_executor& get_executor() const noexcept { return executor_; }

    void spawn(asio::awaitable<void> task) {
        {
            std::lock_guard hold(idle_.mutex());
            ++running_;
        }
        asio::post(executor_, [self = shared_from_this(), task = std::move(task)]() mutable {
            self->start(std::move(task));
        });
    }

    void cancel() noexcept {
        asio::dispatch(executor_, [self = shared_from_this()] { self->cancel_all(); });
    }

    std::size_t size() const noexcept {
        std::lock_guard hold(idle_.mutex());
        return running_;
    }

    void wait_idle(completion<void(error_code)> done) {
        if (auto slot = done.release_slot(); slot.is_connected()) {
            slot.assign([weak = weak_from_this()](asio::cancellation_type_t) {
                if (const auto self = weak.lock())
                    self->cancel();
            });
        }
        const auto outcome = idle_.wait_unless(done, [this] { return running_ == 0; });
        if (outcome != wait_outcome::waits)
            done.complete(error_code());
    }

    std::exception_ptr take_failure() noexcept {
        std::lock_guard hold(idle_.mutex());
        return std::exchange(first_failure_, nullptr);
    }

    // The scope is being destroyed; tasks that still run are a mistake. The abort is posted,
    // because a context that is being destroyed runs neither those tasks nor the abort: then all is
    // well.
    void abandon() noexcept {
        if (size() == 0 || *ended_)
            return;
        asio::post(executor_, [] {
            constexpr bool joined_before_it_was_destroyed = false;
            MORTISE_ASSERT(joined_before_it_was_destroyed);
        });
    }

private:
    using signal_ptr = std::shared_ptr<asio::cancellation_signal>;

    // The rest runs on the executor.

    void start(asio::awaitable<void> task) {
        const auto signal = std::make_shared<asio::cancellation_signal>();
        const auto place = signals_.insert(signals_.end(), signal);
        auto ended = [self = shared_from_this(), signal, place](std::exception_ptr failure) {
            self->signals_.erase(place);
            self->finish(failure);
        };
        asio::co_spawn(
            executor_,
            std::move(task),
            asio::bind_cancellation_slot(signal->slot(), std::move(ended))
        );
        if (cancelled_)
            signal->emit(asio::cancellation_type::terminal);
    }

    void finish(const std::exception_ptr& failure) {
        bool last = false;
        {
            std::lock_guard hold(idle_.mutex());
            if (failure && !first_failure_ && !(cancelled_ && is_abort(failure)))
                first_failure_ = failure;
            last = --running_ == 0;
        }
        if (last)
            idle_.complete_all(error_code());
    }

    void cancel_all() {
        cancelled_ = true;
        // Copy the list: a task may end, and leave it, inside its signal.
        const std::vector<signal_ptr> signals(signals_.begin(), signals_.end());
        for (const auto& signal : signals)
            signal->emit(asio::cancellation_type::terminal);
    }

    static bool is_abort(const std::exception_ptr& failure) noexcept {
        try {
            std::rethrow_exception(failure);
        } catch (const boost::system::system_error& e) {
            return e.code() == asio::error::operation_aborted;
        } catch (...) {
            return false;
        }
    }

    asio::any_io_executor executor_;
    std::shared_ptr<const std::atomic<bool>> ended_;
    std::list<signal_ptr> signals_;
    bool cancelled_ = false;

    wait_list<> idle_;
    // Under the list's mutex:
    std::size_t running_ = 0;
    std::exception_ptr first_failure_;
};

}  // namespace detail

namespace {

asio::awaitable<void> join_all(std::shared_ptr<detail::task_scope_state> state) {
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none)
        state->cancel();
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    auto idle = detail::async_start<void(error_code)>(
        state->get_executor(),
        asio::deferred,
        [](detail::completion<void(error_code)> done,
           const std::shared_ptr<detail::task_scope_state>& scope) {
            scope->wait_idle(std::move(done));
        },
        state
    );
    co_await std::move(idle);
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (const auto failure = state->take_failure())
        std::rethrow_exception(failure);
}

}  // namespace

task_scope::task_scope(asio::any_io_executor executor)
    : state_(std::make_shared<detail::task_scope_state>(std::move(executor))) {}

task_scope::~task_scope() {
    state_->abandon();
}

asio::any_io_executor task_scope::get_executor() const noexcept {
    return state_->get_executor();
}

void task_scope::spawn(asio::awaitable<void> task) {
    state_->spawn(std::move(task));
}

void task_scope::cancel() noexcept {
    state_->cancel();
}

asio::awaitable<void> task_scope::join() {
    return join_all(state_);
}

std::size_t task_scope::size() const noexcept {
    return state_->size();
}

}  // namespace mortise::coro
