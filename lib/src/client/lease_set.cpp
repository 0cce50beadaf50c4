// SPDX-License-Identifier: BSL-1.0
#include "mortise/lease_set.hpp"

#include "client/client_core.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <list>
#include <stdexcept>
#include <string>

namespace mortise {

std::size_t lease_set::place_of(std::string_view name) const {
    for (std::size_t at = 0; at < leases_.size(); ++at) {
        if (leases_[at].name() == name)
            return at;
    }
    throw std::out_of_range("no lease of \"" + std::string(name) + "\" in this set");
}

const lease& lease_set::at(std::string_view name) const {
    return leases_[place_of(name)];
}

lease lease_set::take(std::string_view name) {
    const std::size_t at = place_of(name);
    lease taken = std::move(leases_[at]);
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(at));
    return taken;
}

error_code lease_set::check() const noexcept {
    for (const auto& each : leases_) {
        if (const error_code wrong = each.check())
            return wrong;
    }
    return {};
}

clock::time_point lease_set::valid_until() const noexcept {
    clock::time_point until = empty() ? clock::time_point::min() : clock::time_point::max();
    for (const auto& each : leases_)
        until = std::min(until, each.valid_until());
    return until;
}

asio::any_io_executor lease_set::executor() const noexcept {
    return detail::executor_of(empty() ? nullptr : leases_.front().grant_);
}

std::vector<std::shared_ptr<detail::held_grant>> lease_set::grants() const {
    std::vector<std::shared_ptr<detail::held_grant>> all;
    all.reserve(size());
    for (const auto& each : leases_)
        all.push_back(each.grant_);
    return all;
}

namespace detail {
namespace {

/// The releases of a set, all under way. Their handlers run on any thread.
class release_all final : public std::enable_shared_from_this<release_all> {
public:
    release_all(lease_handler handler, const asio::any_io_executor& executor)
        : strand_(asio::make_strand(executor)), handler_(std::move(handler)) {}

    void start(std::vector<lease> leases) {
        left_ = leases.size();
        for (auto& each : leases) {
            each.async_release(asio::bind_executor(
                strand_, [self = shared_from_this()](error_code code) { self->released(code); }
            ));
        }
    }

private:
    void released(error_code code) {
        if (!result_)
            result_ = code;
        if (--left_ == 0)
            handler_.complete(result_);
    }

    const asio::any_io_executor strand_;
    lease_handler handler_;
    std::size_t left_ = 0;
    error_code result_;
};

/// The waits for the losses of a set: the first that ends, ends them all.
class wait_any_lost final : public std::enable_shared_from_this<wait_any_lost> {
public:
    wait_any_lost(lease_handler handler, const asio::any_io_executor& executor)
        : strand_(asio::make_strand(executor)), handler_(std::move(handler)) {}

    void start(const std::vector<std::shared_ptr<held_grant>>& grants) {
        coro::detail::install_cancel_proxy<wait_any_lost>(handler_.slot(), weak_from_this());
        asio::dispatch(strand_, [self = shared_from_this(), grants] { self->wait(grants); });
    }

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    void on_cancel(asio::cancellation_type) { end(asio::error::operation_aborted); }

private:
    void wait(const std::vector<std::shared_ptr<held_grant>>& grants) {
        for (const auto& each : grants) {
            if (!handler_)
                return;
            signals_.emplace_back();
            start_wait_lost(
                lease_handler(
                    asio::bind_cancellation_slot(
                        signals_.back().slot(),
                        asio::bind_executor(
                            strand_, [self = shared_from_this()](error_code why) { self->end(why); }
                        )
                    ),
                    strand_
                ),
                each
            );
        }
    }

    void end(error_code why) {
        if (!handler_)
            return;
        auto handler = std::move(handler_);
        for (auto& each : signals_)
            each.emit(asio::cancellation_type::total);
        handler.complete(why);
    }

    const asio::any_io_executor strand_;
    lease_handler handler_;  // holds nothing once completed
    std::list<asio::cancellation_signal> signals_;
};

}  // namespace

void start_release_all(lease_handler handler, std::vector<lease> leases) {
    if (leases.empty()) {
        handler.complete(errc::lease_released);
        return;
    }
    const auto executor = handler.get_executor();
    std::make_shared<release_all>(std::move(handler), executor)->start(std::move(leases));
}

void start_wait_any_lost(lease_handler handler, std::vector<std::shared_ptr<held_grant>> grants) {
    if (grants.empty()) {
        handler.complete(errc::lease_released);
        return;
    }
    const auto executor = handler.get_executor();
    std::make_shared<wait_any_lost>(std::move(handler), executor)->start(grants);
}

}  // namespace detail
}  // namespace mortise
