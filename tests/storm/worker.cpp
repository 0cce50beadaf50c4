// SPDX-License-Identifier: BSL-1.0
#include "storm/worker.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/open_store.hpp"
#include "sim/bugs.hpp"
#include "storm/plan.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

client_config client_for(const worker_order& order) {
    client_config config;
    config.ttl = order.ttl;
    return config;
}

std::uint32_t drawn_below(std::mt19937_64& from, std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(from);
}

milliseconds drawn_between(std::mt19937_64& from, int least, int most) {
    return milliseconds(std::uniform_int_distribution<int>(least, most)(from));
}

// Whether the store is away. A server may be, a file never is.
bool is_away(error_code failed, const std::string& store) {
    if (store.starts_with("sqlite:"))
        return false;
    return failed == errc::store_unavailable || failed == errc::outcome_unknown ||
           failed == errc::server_loading || failed == errc::quarantined;
}

ending ending_of(error_code failed, const std::string& store) {
    if (failed == errc::busy)
        return ending::busy;
    if (is_away(failed, store))
        return ending::store_away;
    return failed == asio::error::operation_aborted ? ending::cancelled : ending::failed;
}

}  // namespace

worker::worker(
    const asio::any_io_executor& executor, const worker_order& order, const board& shared
)
    : executor_(executor),
      order_(order),
      shared_(shared),
      seat_(shared.shared().seats.at(order.seat)),
      locks_(executor, open_store(order.store), client_for(order)) {
    seat_.turns = 0;
    seat_.holding = 0;
}

asio::awaitable<void> worker::run() {
    coro::task_scope fighters(executor_);
    for (std::size_t i = 0; i < order_.sockets.size(); ++i)
        fighters.spawn(fight(order_.sockets[i], order_.seed + i));
    co_await fighters.join();
    co_await leave_in_peace();
    co_await locks_.async_stop();
}

bool worker::calm() const noexcept {
    return shared_.shared().now == board::weather::calm;
}

asio::awaitable<void> worker::fight(int socket, std::uint64_t seed) {
    resource_link link(executor_, socket);
    dice drawn(seed);
    while (!calm()) {
        co_await want(draw_wish(drawn), &link);
        ++seat_.turns;
        co_await rest(drawn_between(drawn, 20, 250));
    }
}

// Demands every lock in every mode: nobody may be left out for ever, whatever happened before.
asio::awaitable<void> worker::leave_in_peace() {
    for (std::size_t i = 0; i < locks.size(); ++i) {
        for (const std::uint32_t drawn : {0u, 50u, 99u}) {
            wish request;
            request.lock = i;
            request.mode = locks[i].mode_for(drawn);
            co_await want(request, nullptr);
            if (locks[i].writers == 100 || locks[i].guests == 100)
                break;  // the other draws give the same mode
        }
    }
}

worker::wish worker::draw_wish(dice& drawn) {
    wish request;
    request.lock = drawn_below(drawn, static_cast<std::uint32_t>(locks.size()));
    request.mode = locks[request.lock].mode_for(drawn_below(drawn, 100));
    request.a_try = drawn_below(drawn, 10) == 0;
    if (drawn_below(drawn, 4) == 0)
        request.wait_max = drawn_between(drawn, 20, 400);
    if (drawn_below(drawn, 4) == 0)
        request.cancel_after = drawn_between(drawn, 1, 300);
    request.hold =
        drawn_below(drawn, 12) == 0 ? drawn_between(drawn, 50, 150) : drawn_between(drawn, 0, 6);
    return request;
}

asio::awaitable<worker::outcome> worker::acquire(const wish& request) {
    outcome out;
    lock_options options;
    options.mode = request.mode;
    options.wait_max = request.wait_max;
    const std::string name = locks[request.lock].name;
    if (request.a_try) {
        auto trying = locks_.async_try_acquire(name, options, asio::as_tuple(asio::deferred));
        auto got = co_await std::move(trying);
        auto& [failed, maybe] = got;
        out.failed = failed || maybe ? failed : error_code(errc::busy);
        if (maybe)
            out.held = std::move(*maybe);
    } else if (request.cancel_after != milliseconds::max()) {
        auto asking = locks_.async_acquire(
            name, options, asio::cancel_after(request.cancel_after, asio::as_tuple(asio::deferred))
        );
        auto got = co_await std::move(asking);
        auto& [failed, held] = got;
        out.failed = failed;
        out.held = std::move(held);
    } else {
        auto asking = locks_.async_acquire(name, options, asio::as_tuple(asio::deferred));
        auto got = co_await std::move(asking);
        auto& [failed, held] = got;
        out.failed = failed;
        out.held = std::move(held);
    }
    co_return out;
}

asio::awaitable<void> worker::want(wish request, resource_link* link) {
    record* const log = shared_.claim();
    if (!log)
        throw std::runtime_error("the log is full");
    const auto traits = locks_.traits();
    if (!traits.shared || !traits.permits)
        request.mode = lock_mode::exclusive();
    log->lock = static_cast<std::uint8_t>(request.lock);
    log->mode = static_cast<std::uint8_t>(request.mode.type());
    log->asked = now_ns();
    log->process = order_.number;
    outcome got = co_await acquire(request);
    if (got.failed) {
        log->code = got.failed.value();
        log->end = ending_of(got.failed, order_.store);
        log->ended = now_ns();
        co_return;
    }
    ++seat_.holding;
    log->token = got.held.token().value;
    log->slot = got.held.slot();
    log->end = ending::holding;
    log->granted = now_ns();
    look(*log, got.held);
    if (link)
        co_await use(*log, got.held, request, *link);
    look(*log, got.held);
    log->let_go = now_ns();
    auto releasing = got.held.async_release(asio::as_tuple(asio::deferred));
    auto released = co_await std::move(releasing);
    auto& [failed] = released;
    log->code = failed.value();
    log->end = failed ? ending::lost : ending::released;
    log->ended = now_ns();
    --seat_.holding;
}

// Reads, thinks, writes. The read raises the fence. Readers do not write.
asio::awaitable<void>
worker::use(record& log, const lease& held, const wish& request, resource_link& link) {
    resource_message message;
    message.lock = log.lock;
    message.slot = log.slot;
    message.token = log.token;
    message = co_await link.ask(message);
    look(log, held);
    co_await rest(request.hold);
    look(log, held);
    if (message.admitted && request.mode != lock_mode::shared()) {
        message.type = resource_message::kind::write;
        ++message.value;
        message = co_await link.ask(message);
    }
    if (!message.admitted && held.held())
        log.held_though_refused = true;
}

void worker::look(record& log, const lease& held) {
    const std::int64_t before = now_ns();
    if (!held.held())
        return;
    if (log.held_from == 0) {
        log.first_ask = before;
        log.held_from = now_ns();
    }
    log.held_until = before;
}

asio::awaitable<void> worker::rest(milliseconds time) {
    asio::steady_timer timer(executor_, time);
    co_await timer.async_wait(asio::deferred);
}

int run_worker(const worker_order& order) {
    test::plant_bug(order.bug);
    const board shared = board::attach(order.board);
    asio::io_context context(1);
    worker one(context.get_executor(), order, shared);
    asio::co_spawn(context, one.run(), [](const std::exception_ptr& failed) {
        if (failed)
            std::rethrow_exception(failed);
    });
    context.run();
    return 0;
}

}  // namespace mortise::storm
