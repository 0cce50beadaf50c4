// SPDX-License-Identifier: BSL-1.0
#include "storm/resource_desk.hpp"

#include "mortise/token_domain.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace mortise::storm {

void resource_desk::serve(int fd) {
    asio::co_spawn(
        executor_, talk(socket(executor_, asio::local::stream_protocol(), fd)), asio::detached
    );
}

// A killed worker closes its end, maybe in the middle of a message.
asio::awaitable<void> resource_desk::talk(socket with) {
    resource_message message;
    for (;;) {
        auto got = co_await asio::async_read(
            with, asio::buffer(&message, sizeof message), asio::as_tuple(asio::deferred)
        );
        if (std::get<0>(got))
            co_return;
        handle(message);
        auto sent = co_await asio::async_write(
            with, asio::buffer(&message, sizeof message), asio::as_tuple(asio::deferred)
        );
        if (std::get<0>(sent))
            co_return;
    }
}

void resource_desk::handle(resource_message& message) {
    resource& it = resources_.at(message.lock).at(message.slot);
    const auto held = token_domain::parse(domain)->of_slot(message.slot);
    message.admitted = !it.gate.admit({message.token, held});
    if (!message.admitted) {
        ++refused_;
    } else if (message.type == resource_message::kind::read) {
        message.value = it.value;
    } else {
        it.value = message.value;
        ++it.writes;
    }
}

std::uint64_t resource_desk::lost_updates() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& of_lock : resources_) {
        for (const resource& each : of_lock)
            sum += each.writes > each.value ? each.writes - each.value : each.value - each.writes;
    }
    return sum;
}

std::uint64_t resource_desk::writes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& of_lock : resources_) {
        for (const resource& each : of_lock)
            sum += each.writes;
    }
    return sum;
}

}  // namespace mortise::storm
