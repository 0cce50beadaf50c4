// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/outcome_source.hpp"

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace mortise::txn {
namespace {

using coro::detail::with_code;
// By then the coordinator has been told. The sweeper sees the end at the reservation itself.
constexpr std::chrono::milliseconds settle_max{200};

class local_source final : public outcome_source {
public:
    local_source(coordinator& at, std::shared_ptr<coro::time_source> time)
        : at_(at), time_(std::move(time)) {}

    asio::awaitable<result<standing>> settle(gid transaction) override {
        const asio::any_io_executor strand = co_await asio::this_coro::executor;
        asio::cancellation_signal stop;
        coro::detail::alarm too_late;
        const auto limit = coro::saturating_add(time_->now(), settle_max);
        too_late.set(*time_, strand, limit, [&stop] {
            stop.emit(asio::cancellation_type::terminal);
        });
        auto settled = co_await at_.async_settle(
            transaction, asio::bind_cancellation_slot(stop.slot(), with_code)
        );
        auto& [failed, end] = settled;
        if (failed != asio::error::operation_aborted)
            co_return standing_of(failed, end);
        auto answer = co_await at_.async_outcome(transaction, with_code);
        auto& [why, present] = answer;
        co_return standing_of(why, present);
    }

private:
    coordinator& at_;
    const std::shared_ptr<coro::time_source> time_;
};

}  // namespace

std::shared_ptr<outcome_source>
make_outcome_source(coordinator& at, std::shared_ptr<coro::time_source> time) {
    if (!time)
        time = mortise::detail::make_real_time(at.get_executor());
    return std::make_shared<local_source>(at, std::move(time));
}

}  // namespace mortise::txn
