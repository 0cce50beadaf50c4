// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/participant_server.hpp"

#include "mortise/coro/assert.hpp"
#include "server/listener.hpp"
#include "server/participant_desk.hpp"
#include "wire/fields.hpp"

#include <boost/asio/ip/address.hpp>

#include <utility>

namespace mortise::txn {
namespace {

/// Whether other hosts can connect to the address.
bool is_reached_from_elsewhere(const std::string& address) {
    error_code failed;
    const auto parsed = asio::ip::make_address(address, failed);
    return !failed && !parsed.is_loopback();  // the listener refuses what is not an address
}

void require_login(const participant_server_config& config) {
    const auto& access = config.access;
    const bool asks = !access.callers.empty() || !config.listen.client_ca_file.empty();
    if (asks || access.allow_anyone || !is_reached_from_elsewhere(config.listen.address))
        return;
    throw error(
        mortise::errc::bad_config,
        "a participant server at " + config.listen.address + " without a login",
        "give its coordinators tokens (access.callers), ask for their certificates "
        "(listen.client_ca_file), or say that whoever can connect may call (access.allow_anyone)"
    );
}

http::answer_function answering(participant_map served, participant_server_config& config) {
    require_login(config);
    participant_routes_config routes;
    routes.access = std::move(config.access);
    routes.access.allow_anyone = routes.access.allow_anyone || routes.access.callers.empty();
    const auto desk =
        std::make_shared<const http::participant_desk>(std::move(served), std::move(routes));
    return [desk](const http::request& asked) { return desk->answer(asked); };
}

std::shared_ptr<http::listener> listening(
    asio::any_io_executor executor, participant_server_config config, participant_map served
) {
    auto answer = answering(std::move(served), config);
    return std::make_shared<http::listener>(
        std::move(executor), std::move(config.listen), std::move(answer)
    );
}

}  // namespace

participant_server::participant_server(
    executor_type executor, participant_server_config config, participants served
)
    : listener_(listening(std::move(executor), std::move(config), std::move(served))) {
    listener_->attach();
}

participant_server::~participant_server() {
    if (listener_)
        listener_->close();
}

participant_server::participant_server(participant_server&&) noexcept = default;

participant_server& participant_server::operator=(participant_server&& other) noexcept {
    if (const auto before = std::exchange(listener_, std::move(other.listener_)))
        before->close();
    return *this;
}

participant_server::executor_type participant_server::get_executor() const noexcept {
    MORTISE_ASSERT(listener_);
    return listener_->executor();
}

std::uint16_t participant_server::port() const noexcept {
    return listener_->port();
}

std::string participant_server::url(std::string_view name) const {
    return listener_->url() + '/' + http::percent_encoded(name);
}

http_server_stats participant_server::stats() const noexcept {
    return listener_->stats();
}

}  // namespace mortise::txn
