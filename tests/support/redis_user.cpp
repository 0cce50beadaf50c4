// SPDX-License-Identifier: BSL-1.0
#include "support/redis_user.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds patience{40};

client_config config_of(std::chrono::milliseconds ttl) {
    client_config how;
    how.ttl = ttl;
    how.label = "test";
    return how;
}

redis_store_config config_at(std::uint16_t port, std::chrono::milliseconds ttl) {
    redis_store_config config;
    config.server.port = port;
    config.longest_ttl = ttl;
    return config;
}

template <class Value>
Value value_of(std::future<Value>& coming) {
    if (coming.wait_for(patience) != std::future_status::ready)
        throw std::runtime_error("an operation does not end");
    return coming.get();
}

}  // namespace

acquired outcome_of(std::future<acquired>& asked) {
    return value_of(asked);
}

redis_user::redis_user(redis_store_config config, std::chrono::milliseconds ttl)
    : redis_user(std::move(config), config_of(ttl)) {}

redis_user::redis_user(redis_store_config config, const client_config& how)
    : redis_user(make_redis_store(std::move(config)), how) {}

redis_user::redis_user(std::unique_ptr<store> at, const client_config& how)
    : work_(context_.get_executor()) {
    client_.emplace(asio::any_io_executor(context_.get_executor()), std::move(at), how);
    thread_ = std::thread([this] { context_.run(); });
}

redis_user::redis_user(std::uint16_t port, std::chrono::milliseconds ttl)
    : redis_user(config_at(port, ttl), ttl) {}

redis_user::~redis_user() {
    if (!stopped_)
        stop();
    work_.reset();
    context_.stop();
    thread_.join();
}

std::future<acquired> redis_user::ask(std::string name, std::chrono::milliseconds wait) {
    const auto promise = std::make_shared<std::promise<acquired>>();
    lock_options options;
    options.wait_max = wait;
    client_->async_acquire(std::move(name), options, [promise](error_code code, lease held) {
        acquired outcome;
        outcome.code = code;
        outcome.held = std::move(held);
        outcome.at = clock::now();
        promise->set_value(std::move(outcome));
    });
    return promise->get_future();
}

acquired redis_user::acquire(std::string name, std::chrono::milliseconds wait) {
    auto asked = ask(std::move(name), wait);
    return value_of(asked);
}

error_code redis_user::release(lease& held) {
    const auto promise = std::make_shared<std::promise<error_code>>();
    held.async_release([promise](error_code code) { promise->set_value(code); });
    auto done = promise->get_future();
    return value_of(done);
}

error_code redis_user::stop() {
    stopped_ = true;
    const auto promise = std::make_shared<std::promise<error_code>>();
    client_->async_stop([promise](error_code code) { promise->set_value(code); });
    auto done = promise->get_future();
    return value_of(done);
}

}  // namespace mortise::test
