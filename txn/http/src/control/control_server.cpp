// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/control_server.hpp"

#include "control/control_answers.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"
#include "server/listener.hpp"
#include "wire/login.hpp"

#include <utility>

namespace mortise::txn {
namespace {

void check(const control_server_config& config) {
    if (config.settle_max < std::chrono::milliseconds(200) ||
        config.settle_max > std::chrono::hours(1))
        throw error(mortise::errc::bad_config, "settle_max", "use 200 ms to one hour");
}

http::token_check callers_of(const control_server_config& config) {
    http_caller whoever("whoever asks", config.token);
    whoever.token_file = config.token_file;
    return http::token_check({whoever});
}

http::answer_function
answering(const asio::any_io_executor& executor, control_server_config& config, coordinator& of) {
    check(config);
    auto& time = config.listen.time;
    if (!time)
        time = mortise::detail::make_real_time(executor);
    auto answers =
        std::make_shared<http::control_answers>(of, callers_of(config), config.settle_max, time);
    return [answers](const http::request& request) { return answers->answer(request); };
}

std::shared_ptr<http::listener>
listening(asio::any_io_executor executor, control_server_config config, coordinator& of) {
    auto answer = answering(executor, config, of);
    return std::make_shared<http::listener>(
        std::move(executor), std::move(config.listen), std::move(answer)
    );
}

}  // namespace

control_server::control_server(
    executor_type executor, control_server_config config, coordinator& of
)
    : listener_(listening(std::move(executor), std::move(config), of)) {
    listener_->attach();
}

control_server::~control_server() {
    if (listener_)
        listener_->close();
}

control_server::control_server(control_server&&) noexcept = default;

control_server& control_server::operator=(control_server&& other) noexcept {
    if (const auto before = std::exchange(listener_, std::move(other.listener_)))
        before->close();
    return *this;
}

control_server::executor_type control_server::get_executor() const noexcept {
    MORTISE_ASSERT(listener_);
    return listener_->executor();
}

std::uint16_t control_server::port() const noexcept {
    return listener_->port();
}

std::string control_server::url() const {
    return listener_->url();
}

http_server_stats control_server::stats() const noexcept {
    return listener_->stats();
}

}  // namespace mortise::txn
