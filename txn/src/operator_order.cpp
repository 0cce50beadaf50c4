// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/operator_order.hpp"

#include "log/operator_order_tables.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/log_reader.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace mortise::txn {
namespace {

using coro::detail::with_code;
using std::chrono::milliseconds;

db::sqlite_config config_for(std::filesystem::path log) {
    db::sqlite_config config;
    config.path = std::move(log);
    return config;
}

class leaving {
public:
    explicit leaving(intervention order) : order_(std::move(order)) {}
    result<std::int64_t> operator()(db::connection& on) const {
        return log::operator_order_tables::leave(on, order_);
    }

private:
    intervention order_;
};

class looking {
public:
    explicit looking(std::int64_t id) : id_(id) {}
    std::optional<error_code> operator()(db::connection& on) const {
        return log::operator_order_tables::result_of(on, id_);
    }

private:
    std::int64_t id_;
};

}  // namespace

asio::awaitable<std::optional<error_code>>
leave_operator_order(std::filesystem::path log, intervention order, milliseconds wait) {
    const log_reader known(log);  // throws if there is no log: none must be created
    const auto executor = co_await asio::this_coro::executor;
    coro::event rung(executor);
    const db::bell ear(executor, log, [&rung] { rung.set(); });
    db::sqlite session(executor, config_for(log));
    leaving request(std::move(order));
    const auto id = co_await session.async_run(std::move(request));
    db::bell::ring(log);
    const auto end = coro::saturating_add(clock::now(), wait);
    for (;;) {
        rung.reset();  // before the read, so that no later ring is missed
        auto answer = co_await session.async_read(looking(id));
        const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now());
        if (answer || left <= milliseconds(0)) {
            co_await session.async_stop();
            co_return answer;
        }
        // Wait for an hour at most, then look again.
        const auto pause = std::min<milliseconds>(left, std::chrono::hours(1));
        auto waited = co_await rung.async_wait(asio::cancel_after(pause, with_code));
        static_cast<void>(waited);
    }
}

}  // namespace mortise::txn
