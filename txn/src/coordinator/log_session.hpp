// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_LOG_SESSION_HPP
#define MORTISE_TXN_COORDINATOR_LOG_SESSION_HPP

#include "coordinator/coordinator_context.hpp"
#include "log/decision_log.hpp"
#include "log/log_schema.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/worker.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::txn::detail {

/// The open log of a coordinator. It is opened anew after a failure, because only then it is known
/// which of the last changes are durable.
///
/// @par Threads The strand, except for `stats`.
class log_session final : coordinator_part {
public:
    log_session(coordinator_core& core, coordinator_context& context);

    void open();
    void close() noexcept { log_.reset(); }
    bool is_open() const noexcept { return log_ != nullptr; }
    /// Only while it is open.
    log::decision_log* operator->() const noexcept { return log_.get(); }

    /// The log's id; empty until it was prepared for the first time.
    const std::optional<std::uint64_t>& id() const noexcept { return id_; }
    /// Counts openings of the log; answers to older ones are void.
    std::uint64_t number() const noexcept { return number_; }

    /// Lets go of a log that can no longer be written, and of all that is under way.
    void fail(error_code why);
    /// The log works: the next failure is followed by a short pause.
    void reset_pause() noexcept { reopen_pause_ = reopen_first; }

    /// Any thread.
    void stats(coro::detail::completion<void(error_code, db::sqlite_stats)> handler);

    /// Binds `then` to the strand. Opens the log anew if the log is broken.
    template <class Then>
    auto bound(Then then) {
        return asio::bind_executor(
            context_.strand(),
            [this, kept = context_.keep(), number = number_, then = std::move(then)](
                error_code failed, auto&&... more
            ) mutable {
                then(failed, std::forward<decltype(more)>(more)...);
                if (number == number_ && log_ && log_->poisoned())
                    fail(mortise::errc::poisoned);
            }
        );
    }

    /// As `bound`, for reads, with `reason_of` the error.
    template <class Then>
    auto bound_read(Then then) {
        return bound([this, kept = context_.keep(), then = std::move(then)](
                         error_code failed, auto&&... more
                     ) mutable { then(reason_of(failed), std::forward<decltype(more)>(more)...); });
    }

    /// Translates the error of a request to the log for its caller. A request whose turn had not
    /// come when the log was closed ends with `operation_aborted`, although nobody has cancelled
    /// anything. It was not carried out, and this is the reason.
    error_code reason_of(error_code failed) const;

    /// Whether the failed request had no effect on the log, and may be repeated.
    static bool had_no_effect(error_code failed) noexcept;

private:
    static constexpr std::chrono::milliseconds reopen_first{50};

    coro::worker& opener();
    void opened(error_code failed, std::uint64_t number, std::unique_ptr<log::decision_log> fresh);
    void prepare();
    void prepared(error_code failed, const log::log_facts& found);
    void close_beside(std::unique_ptr<log::decision_log> old);

    std::unique_ptr<log::decision_log> log_;
    std::unique_ptr<coro::worker> opener_;  ///< Made when it is first needed.
    std::uint64_t number_ = 0;
    std::optional<std::uint64_t> id_;
    clock::duration reopen_pause_{reopen_first};
    coordinator_context::timer reopen_timer_;
};

}  // namespace mortise::txn::detail

#endif
