// SPDX-License-Identifier: BSL-1.0
#include "control/settle_desk.hpp"

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <optional>
#include <set>
#include <utility>

namespace mortise::txn::http {
namespace {

using coro::detail::with_code;
// Each question makes the coordinator call branches at once that wait for their next attempt. After
// so many questions, a participant that does not answer need not be hurried further.
constexpr std::size_t asked_max = 1'000;

}  // namespace

/// The clients that wait for the end of one transaction.
struct settle_desk::wait {
    std::size_t asked = 0;  ///< Questions at the coordinator; it answers all of them at once.
    std::optional<result<standing>> came;
    std::set<coro::event*> waiters;
};

asio::awaitable<result<standing>> settle_desk::ask(gid which) {
    auto asking = at_.async_outcome(which, with_code);
    auto got = co_await std::move(asking);
    auto& [failed, came] = got;
    co_return standing_of(failed, came);
}

asio::awaitable<result<standing>>
settle_desk::settle(gid which, coro::time_source& time, clock::duration limit) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    auto& entry = waiting_[which];
    if (entry == nullptr || entry->came) {
        entry = std::make_shared<wait>();
        std::erase_if(waiting_, [](const auto& each) { return each.second->came.has_value(); });
    }
    const auto mine = entry;
    coro::event ready(strand);
    mine->waiters.insert(&ready);
    struct leave {
        ~leave() { from->waiters.erase(what); }
        const std::shared_ptr<wait>& from;
        coro::event* what;
    };
    const leave on_return{mine, &ready};
    if (mine->asked < asked_max) {
        ++mine->asked;
        at_.async_settle(
            which,
            asio::bind_executor(
                strand,
                [mine](error_code failed, const outcome& came) {
                    mine->came = standing_of(failed, came);
                    for (auto* const each : mine->waiters)
                        each->set();
                }
            )
        );
    }
    coro::detail::alarm too_late;
    too_late.set(time, strand, coro::saturating_add(time.now(), limit), [&ready] { ready.set(); });
    co_await ready.async_wait();
    if (mine->came)
        co_return *mine->came;
    co_return co_await ask(which);
}

}  // namespace mortise::txn::http
