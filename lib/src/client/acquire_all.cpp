// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mortise::detail {
namespace {

using all_handler = coro::detail::completion<void(error_code, lease_set)>;

/// Acquires several locks in their order: all of them, or none. Lives on a strand of its own, kept
/// alive by whatever it waits for.
///
/// acquire the next ones -> ... -> all held: complete; else release those held -> complete
class acquire_all_op final : public std::enable_shared_from_this<acquire_all_op> {
public:
    acquire_all_op(
        all_handler handler,
        const core_ptr& core,
        std::vector<std::string> names,
        const lock_options& options
    )
        : strand_(asio::make_strand(handler.get_executor())),
          handler_(std::move(handler)),
          core_(core),
          names_(std::move(names)),
          options_(options) {
        std::sort(names_.begin(), names_.end());
        names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
        const bool limited = options_.wait_max != std::chrono::milliseconds::max();
        if (limited && options_.wait_max >= std::chrono::milliseconds::zero())
            until_ = coro::saturating_add(core->context.now(), options_.wait_max);
    }

    void start() {
        coro::detail::install_cancel_proxy<acquire_all_op>(handler_.slot(), weak_from_this());
        asio::dispatch(strand_, [self = shared_from_this()] { self->next(); });
    }

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    // Passes the signal on to the acquires under way; a release is never cancelled.
    void on_cancel(asio::cancellation_type type) {
        cancelled_ = true;
        for (auto& each : stops_)
            each.emit(type);
    }

private:
    struct outcome {
        outcome() = default;

        bool known = false;
        error_code code;
        lease held;
    };

    void next() {
        if (cancelled_)
            return fail(asio::error::operation_aborted);
        if (leases_.size() == names_.size())
            return finish();
        const auto core = core_.lock();
        if (!core)
            return fail(errc::client_stopped);
        if (until_ != clock::time_point::max()) {
            const auto left = std::max<clock::duration>(until_ - core->context.now(), {});
            options_.wait_max = std::chrono::duration_cast<std::chrono::milliseconds>(left);
        }
        outcomes_.clear();
        under_way_ = core->locals.acquire_in_order(
            std::span(names_).subspan(leases_.size()),
            options_,
            [this](std::size_t at) { return handler_of(at); }
        );
        outcomes_.resize(under_way_);
    }

    // Completes by post, so that all outcomes have their place by then.
    local_waiter::handler_type handler_of(std::size_t at) {
        if (stops_.size() <= at)
            stops_.emplace_back();
        return local_waiter::acquire_handler(
            asio::bind_cancellation_slot(
                stops_[at].slot(),
                asio::bind_executor(
                    strand_,
                    [self = shared_from_this(), at](error_code code, lease held) {
                        self->take(at, code, std::move(held));
                    }
                )
            ),
            strand_
        );
    }

    // Grants complete in the order of the locks, unless one of them was doubtful or is gone again.
    // Then nothing behind it may be held while it is waited for.
    void take(std::size_t at, error_code code, lease held) {
        const bool early = std::any_of(
            outcomes_.begin(),
            outcomes_.begin() + static_cast<std::ptrdiff_t>(at),
            [](const outcome& each) { return !each.known; }
        );
        outcomes_[at].known = true;
        outcomes_[at].code = early && !code ? not_asked() : code;
        if (!early)
            outcomes_[at].held = std::move(held);
        if (--under_way_ == 0)
            take_all();
    }

    // The first one is always asked for, so each round either ends the operation or goes further. A
    // lease behind one that was not asked for is released, and acquired anew in its turn.
    void take_all() {
        error_code failed;
        for (auto& each : std::exchange(outcomes_, {})) {
            if (each.code && !failed)
                failed = each.code;
            if (!each.code && failed != not_asked())
                leases_.push_back(std::move(each.held));
        }
        if (failed && failed != not_asked())
            return fail(failed);
        next();
    }

    // An early lease may have been lost during the wait for a late one.
    void finish() {
        lease_set all(std::move(leases_));
        if (const error_code lost = all.check())
            return release(std::move(all), lost);
        complete({}, std::move(all));
    }

    void fail(error_code why) { release(lease_set(std::move(leases_)), why); }

    void release(lease_set all, error_code why) {
        if (all.empty())
            return complete(why, {});
        all.async_release(asio::bind_executor(
            strand_, [self = shared_from_this(), why](error_code) { self->complete(why, {}); }
        ));
    }

    void complete(error_code code, lease_set all) { handler_.complete(code, std::move(all)); }

    const asio::any_io_executor strand_;
    all_handler handler_;
    const std::weak_ptr<client_core> core_;  // weak: its queue may hold this operation
    std::vector<std::string> names_;
    lock_options options_;
    clock::time_point until_ = clock::time_point::max();
    std::vector<lease> leases_;
    std::size_t under_way_ = 0;  ///< Acquires of this round.
    std::vector<outcome> outcomes_;
    std::deque<asio::cancellation_signal> stops_;  ///< One for each of them.
    bool cancelled_ = false;
};

}  // namespace

void start_acquire_all(
    all_handler handler, core_ptr core, std::vector<std::string> names, lock_options options
) {
    if (names.empty()) {
        handler.complete(errc::names_missing, {});
        return;
    }
    const auto op =
        std::make_shared<acquire_all_op>(std::move(handler), core, std::move(names), options);
    op->start();
}

}  // namespace mortise::detail
