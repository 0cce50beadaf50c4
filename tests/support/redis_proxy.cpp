// SPDX-License-Identifier: BSL-1.0
#include "support/redis_proxy.hpp"

#include "support/proxy_core.hpp"

#include <stdexcept>
#include <utility>

namespace mortise::test {

redis_proxy::redis_proxy(
    asio::any_io_executor executor,
    std::uint16_t server_port,
    std::shared_ptr<coro::time_source> time
)
    : core_(std::make_shared<proxy_core>(std::move(executor), server_port, std::move(time))) {
    core_->listen();
}

redis_proxy::~redis_proxy() {
    core_->end();
}

std::uint16_t redis_proxy::port() const noexcept {
    return core_->port();
}

void redis_proxy::at(kind type, std::uint64_t nth, proxy_deed deed) {
    if (nth == 0 || !deed.fits(type))
        throw std::logic_error("no message, or none to which this can be done");
    core_->orders[{type, core_->counts().of(type) + nth}] = deed;
}

std::size_t redis_proxy::pending() const noexcept {
    return core_->orders.size();
}

std::size_t redis_proxy::take_back() noexcept {
    const std::size_t count = pending();
    core_->orders.clear();
    return count;
}

void redis_proxy::decide(std::function<proxy_deed(const proxied_message&)> judge) {
    core_->decision = std::move(judge);
}

std::uint64_t redis_proxy::count(kind type) const noexcept {
    return core_->counts().of(type);
}

std::uint64_t redis_proxy::count(kind type, std::uint64_t connection) const {
    return core_->counts(connection).of(type);
}

std::uint64_t redis_proxy::connections() const noexcept {
    return core_->connections();
}

std::size_t redis_proxy::open_connections() const noexcept {
    return core_->open();
}

void redis_proxy::hold(way direction) {
    core_->gate(direction).reset();
}

void redis_proxy::let_through(way direction) {
    core_->gate(direction).set();
}

void redis_proxy::refuse_connections() {
    core_->refuse();
}

void redis_proxy::allow_connections() {
    core_->listen();
}

void redis_proxy::cut_all() {
    core_->cut_all();
}

void redis_proxy::cut_by_reset(bool reset) noexcept {
    core_->reset = reset;
}

}  // namespace mortise::test
