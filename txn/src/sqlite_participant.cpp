// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/sqlite_participant.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/overdue_sweeper.hpp"

#include <exception>
#include <mutex>
#include <optional>

namespace mortise::txn {
namespace detail {

/// The state that the participant shares with its calls, which may outlive it.
class participant_state {
public:
    participant_state(
        std::shared_ptr<db::sqlite> in, call_work try_, call_work confirm, call_work cancel
    )
        : database(std::move(in)),
          reserve_(std::move(try_)),
          confirm_(std::move(confirm)),
          cancel_(std::move(cancel)) {
        mortise::detail::require(database != nullptr, "database", "name a session");
        for (const auto* each : {&reserve_, &confirm_, &cancel_})
            mortise::detail::require(
                static_cast<bool>(*each), "try_, confirm, cancel", "give each something to do"
            );
    }

    const call_work& work_of(operation kind) const noexcept {
        return kind == operation::try_ ? reserve_ : kind == operation::confirm ? confirm_ : cancel_;
    }

    void sweep(std::shared_ptr<outcome_source> asks, sweeper_config how) {
        const std::lock_guard hold(mutex_);
        mortise::detail::require(!sweeper_, "sweep_overdue", "call it once");
        sweeper_.emplace(database->get_executor(), database, std::move(asks), std::move(how));
    }
    sweeper_stats swept() const noexcept {
        const std::lock_guard hold(mutex_);
        return sweeper_ ? sweeper_->stats() : sweeper_stats();
    }
    void begin_stop() noexcept {
        const std::lock_guard hold(mutex_);
        sweeper_.reset();
    }
    void stop(coro::detail::completion<void(error_code)> done) {
        const std::lock_guard hold(mutex_);
        if (!sweeper_)
            return done.complete(error_code());
        auto asked = std::make_shared<coro::detail::completion<void(error_code)>>(std::move(done));
        sweeper_->async_stop([asked](error_code) { asked->complete(error_code()); });
    }

    const std::shared_ptr<db::sqlite> database;

private:
    const call_work reserve_;
    const call_work confirm_;
    const call_work cancel_;
    mutable std::mutex mutex_;
    std::optional<overdue_sweeper> sweeper_;  // under the mutex
};

void start_participant_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<participant_state> state
) {
    static_cast<void>(done.release_slot());
    state->stop(std::move(done));
}

namespace {

using coro::detail::with_code;
// Keeps the state, because the participant may be gone before its call has ended.
asio::awaitable<result<reply>>
pass_barrier(std::shared_ptr<const participant_state> state, call request) {
    std::exception_ptr thrown;
    const call_work& work = state->work_of(request.type);
    auto passing = state->database->async_run(
        [&request, &work, &thrown](db::connection& on) {
            try {
                return barrier::pass(on, request, [&] { return work(on, request); });
            } catch (...) {
                thrown = std::current_exception();  // a code alone has no text
                throw;
            }
        },
        db::durability::force,
        with_code
    );
    auto outcome = co_await std::move(passing);
    auto& [failed, answer] = outcome;
    if (thrown)
        std::rethrow_exception(thrown);
    if (failed)
        co_return failed;
    co_return std::move(answer);
}

}  // namespace
}  // namespace detail

sqlite_participant::sqlite_participant(
    db::sqlite& database, call_work try_, call_work confirm, call_work cancel
)
    : sqlite_participant(
          std::shared_ptr<db::sqlite>(std::shared_ptr<void>(), &database),
          std::move(try_),
          std::move(confirm),
          std::move(cancel)
      ) {}

sqlite_participant::sqlite_participant(
    std::shared_ptr<db::sqlite> database, call_work try_, call_work confirm, call_work cancel
)
    : state_(std::make_shared<detail::participant_state>(
          std::move(database), std::move(try_), std::move(confirm), std::move(cancel)
      )) {}

sqlite_participant::~sqlite_participant() {
    state_->begin_stop();
}

sqlite_participant::executor_type sqlite_participant::get_executor() const noexcept {
    return state_->database->get_executor();
}

asio::awaitable<result<reply>> sqlite_participant::carry_out(call request) {
    return detail::pass_barrier(state_, std::move(request));
}

void sqlite_participant::sweep_overdue(std::shared_ptr<outcome_source> asks, sweeper_config how) {
    state_->sweep(std::move(asks), std::move(how));
}

sweeper_stats sqlite_participant::sweeper() const noexcept {
    return state_->swept();
}

}  // namespace mortise::txn
