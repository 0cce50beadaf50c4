// SPDX-License-Identifier: BSL-1.0
#include "store/redis/replica_quorum.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>

#include <utility>

namespace mortise::store_detail {

replica_quorum::replica_quorum(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    unsigned replicas,
    redis_wire_factory wires
)
    : strand_(std::move(strand)),
      time_(std::move(time)),
      replicas_(replicas),
      wires_(std::move(wires)) {}

void replica_quorum::close() noexcept {
    if (const auto pending = std::exchange(next_, nullptr)) {
        pending->outcome = errc::store_unavailable;
        pending->over.set();
    }
    if (const auto wire = std::exchange(wire_, nullptr))
        wire->close();
}

asio::awaitable<error_code>
replica_quorum::reach(redis_command write, std::chrono::milliseconds limit) {
    const auto kept = shared_from_this();
    if (!next_)
        next_ = std::make_shared<round>(strand_);
    const auto mine = next_;
    mine->write = std::move(write);
    mine->limit = limit;
    if (!std::exchange(running_, true))
        asio::co_spawn(strand_, run(kept), asio::detached);
    auto waiting = mine->over.async_wait(asio::as_tuple(asio::deferred));
    const auto [stopped] = co_await std::move(waiting);
    co_return stopped ? error_code(errc::store_unavailable) : mine->outcome;
}

asio::awaitable<void> replica_quorum::run([[maybe_unused]] std::shared_ptr<replica_quorum> self) {
    while (const auto present = std::exchange(next_, nullptr)) {
        auto asking = ask(std::move(present->write), present->limit);
        present->outcome = co_await std::move(asking);
        present->over.set();
    }
    running_ = false;
}

asio::awaitable<error_code>
replica_quorum::ask(redis_command write, std::chrono::milliseconds limit) {
    if (!wire_) {
        wire_ = wires_(strand_);
        open_ = false;
    }
    const auto wire = wire_;
    alarm silent;
    silent.set(
        *time_,
        strand_,
        coro::saturating_add(time_->now(), 2 * limit),
        [late = std::weak_ptr(wire)] {
            if (const auto still = late.lock())
                still->close();
        }
    );
    auto reaching = reach_on(*wire, std::move(write), limit);
    const auto outcome = co_await std::move(reaching);
    if (outcome && outcome != errc::not_enough_replicas) {
        wire->close();  // The next round opens another.
        if (wire_ == wire)
            wire_ = nullptr;
    }
    co_return outcome;
}

asio::awaitable<error_code>
replica_quorum::reach_on(redis_wire& wire, redis_command write, std::chrono::milliseconds limit) {
    if (!std::exchange(open_, true)) {
        auto opening = wire.open(deaf_);
        const auto failure = co_await std::move(opening);
        if (failure.code)
            co_return failure.code;
    }
    auto writing = wire.call(std::move(write));
    const auto written = co_await std::move(writing);
    if (!written)
        co_return errc::store_unavailable;
    if (written->what == redis_value::kind::error)
        co_return meaning_of_refusal(written->text);
    if (written->text != "o")
        co_return errc::outcome_unknown;  // WAIT would speak of an older write.
    auto waiting = wire.call({"WAIT", std::to_string(replicas_), std::to_string(limit.count())});
    const auto counted = co_await std::move(waiting);
    if (!counted)
        co_return errc::store_unavailable;
    if (counted->what != redis_value::kind::number || counted->number < replicas_)
        co_return errc::not_enough_replicas;
    co_return error_code();
}

}  // namespace mortise::store_detail
