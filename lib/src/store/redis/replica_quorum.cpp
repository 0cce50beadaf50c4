// SPDX-License-Identifier: BSL-1.0
#include "store/redis/replica_quorum.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>

#include <utility>

namespace mortise::store_detail {

replica_quorum::replica_quorum(
    asio::any_io_executor strand, unsigned replicas, redis_wire_factory wires
)
    : strand_(std::move(strand)), replicas_(replicas), wires_(std::move(wires)) {}

void replica_quorum::close() noexcept {
    if (const auto wire = std::exchange(wire_, nullptr))
        wire->close();
}

asio::awaitable<error_code>
replica_quorum::reach(redis_command write, std::chrono::milliseconds limit) {
    const auto kept = shared_from_this();
    if (!next_)
        next_ = std::make_shared<round>(strand_);
    const auto mine = next_;
    if (!std::exchange(running_, true))
        asio::co_spawn(strand_, run(kept, std::move(write), limit), asio::detached);
    auto waiting = mine->over.async_wait(asio::as_tuple(asio::deferred));
    const auto [stopped] = co_await std::move(waiting);
    co_return stopped ? error_code(errc::store_unavailable) : mine->outcome;
}

asio::awaitable<void> replica_quorum::run(
    [[maybe_unused]] std::shared_ptr<replica_quorum> self,
    redis_command write,
    std::chrono::milliseconds limit
) {
    while (const auto present = std::exchange(next_, nullptr)) {
        auto asking = ask(write, limit);
        present->outcome = co_await std::move(asking);
        present->over.set();
    }
    running_ = false;
}

asio::awaitable<error_code>
replica_quorum::ask(redis_command write, std::chrono::milliseconds limit) {
    if (!wire_) {
        const auto wire = wires_(strand_);
        wire_ = wire;
        auto opening = wire->open(deaf_);
        const auto failure = co_await std::move(opening);
        if (failure.code) {
            if (wire_ == wire)
                close();
            co_return failure.code;
        }
    }
    const auto wire = wire_;
    if (!wire)
        co_return errc::store_unavailable;
    auto writing = wire->call(std::move(write));
    const auto written = co_await std::move(writing);
    result<redis_value> counted(error_code(errc::store_unavailable));
    if (written && written->what != redis_value::kind::error) {
        auto waiting =
            wire->call({"WAIT", std::to_string(replicas_), std::to_string(limit.count())});
        counted = co_await std::move(waiting);
    }
    if (!written || !counted) {
        if (wire_ == wire)
            close();  // The next one opens another.
        co_return errc::store_unavailable;
    }
    if (written->what == redis_value::kind::error)
        co_return meaning_of_refusal(written->text);
    if (counted->what != redis_value::kind::number || counted->number < replicas_)
        co_return errc::not_enough_replicas;
    co_return error_code();
}

}  // namespace mortise::store_detail
