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
#include <memory>
#include <utility>
#include <vector>

namespace mortise::detail {
namespace {

using changed_handler = coro::detail::completion<void(error_code, std::optional<lock_view>)>;

constexpr std::size_t waiters_compared = 16;

bool same(const party_view& a, const party_view& b) {
    return a.session == b.session && a.mode == b.mode && a.slot == b.slot && a.token == b.token;
}

bool same(const lock_view& a, const lock_view& b) {
    const auto common = std::min({a.waiters.size(), b.waiters.size(), waiters_compared});
    const auto end = a.waiters.begin() + static_cast<std::ptrdiff_t>(common);
    const auto alike = [](const party_view& x, const party_view& y) { return same(x, y); };
    return a.waiter_count == b.waiter_count &&
           std::equal(
               a.holders.begin(), a.holders.end(), b.holders.begin(), b.holders.end(), alike
           ) &&
           std::equal(a.waiters.begin(), end, b.waiters.begin(), alike);
}

bool same(const std::optional<lock_view>& a, const std::optional<lock_view>& b) {
    return a && b ? same(*a, *b) : a.has_value() == b.has_value();
}

/// Inspects a lock after each change of the store until it differs from `seen`. Lives on a strand
/// of its own, kept alive by whatever it waits for.
///
/// watch and inspect -> it differs: complete; else wait for the watch, and again
class wait_changed_op final : public std::enable_shared_from_this<wait_changed_op> {
public:
    wait_changed_op(
        changed_handler handler,
        const core_ptr& core,
        std::string name,
        std::optional<lock_view> seen
    )
        : strand_(asio::make_strand(handler.get_executor())),
          handler_(std::move(handler)),
          core_(core),
          name_(std::move(name)),
          seen_(std::move(seen)) {}

    void start() {
        coro::detail::install_cancel_proxy<wait_changed_op>(handler_.slot(), weak_from_this());
        asio::dispatch(strand_, [self = shared_from_this()] { self->look(); });
    }

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    void on_cancel(asio::cancellation_type) {
        complete(asio::error::operation_aborted, std::nullopt);
    }

private:
    // Begins to watch before it inspects, so that no change falls between the two.
    void look() {
        const auto core = core_.lock();
        if (!handler_)
            return;
        if (!core)
            return complete(errc::client_stopped, std::nullopt);
        watches_ = looks_ = true;
        core->questions.watch(lease_handler(
            asio::bind_cancellation_slot(
                stop_.slot(),
                asio::bind_executor(
                    strand_, [self = shared_from_this()](error_code code) { self->on_notice(code); }
                )
            ),
            strand_
        ));
        core->questions.inspect(
            name_,
            waiters_compared,
            changed_handler(
                asio::bind_executor(
                    strand_,
                    [self = shared_from_this()](error_code code, std::optional<lock_view> view) {
                        self->seen(code, std::move(view));
                    }
                ),
                strand_
            )
        );
    }

    void on_notice(error_code code) {
        watches_ = false;
        watch_failed_ = code;
        go_on();
    }

    void seen(error_code code, std::optional<lock_view> view) {
        looks_ = false;
        if (code || !same(seen_, view))
            return complete(code, std::move(view));
        go_on();
    }

    void go_on() {
        if (watches_ || looks_)
            return;
        if (watch_failed_)
            complete(watch_failed_, std::nullopt);
        else
            look();
    }

    void complete(error_code code, std::optional<lock_view> view) {
        if (!handler_)
            return;
        auto handler = std::move(handler_);
        stop_.emit(asio::cancellation_type::total);
        handler.complete(code, std::move(view));
    }

    const asio::any_io_executor strand_;
    changed_handler handler_;                // holds nothing once completed
    const std::weak_ptr<client_core> core_;  // weak: its list may hold this operation
    const std::string name_;
    const std::optional<lock_view> seen_;
    asio::cancellation_signal stop_;
    bool watches_ = false;
    bool looks_ = false;
    error_code watch_failed_;
};

}  // namespace

void start_wait_changed(
    changed_handler handler, core_ptr core, std::string name, std::optional<lock_view> seen
) {
    std::make_shared<wait_changed_op>(std::move(handler), core, std::move(name), std::move(seen))
        ->start();
}

}  // namespace mortise::detail
