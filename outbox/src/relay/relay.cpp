// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/relay.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/outbox/sink.hpp"
#include "relay/relay_core.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

namespace mortise::outbox {
namespace {

using mortise::detail::require;
using mortise::detail::require_retry_limits;
using std::chrono::milliseconds;

relay_config checked(relay_config config) {
    constexpr milliseconds day = std::chrono::hours(24);
    require(!config.database.empty(), "database = \"\"", "name the file with the message table");
    require(config.sink != nullptr, "sink", "say where the messages go");
    require(
        config.batch_rows >= 1 && config.batch_rows <= 1'000'000, "batch_rows", "use 1 to 1,000,000"
    );
    require(
        config.batch_bytes >= 1 && config.batch_bytes <= std::size_t{1} << 30u,
        "batch_bytes",
        "use 1 byte to 1 GiB"
    );
    require(
        config.purge_rows >= 1 && config.purge_rows <= 10'000'000,
        "purge_rows",
        "use 1 to 10,000,000"
    );
    require(
        config.purge_after >= milliseconds(1) && config.purge_after <= day,
        "purge_after",
        "use one millisecond to one day"
    );
    require(
        config.keep >= milliseconds(0) && config.keep <= day * 36'500,
        "keep",
        "use zero to a hundred years"
    );
    require(
        config.share_every >= milliseconds(0) && config.share_every <= day,
        "share_every",
        "use zero, for never, or one millisecond to one day"
    );
    require(
        config.look_every >= milliseconds(1) && config.look_every <= day,
        "look_every",
        "use one millisecond to one day"
    );
    require_retry_limits(config.retry_first, config.retry_max);
    require(
        config.topic_look_every >= milliseconds(10) && config.topic_look_every <= day,
        "topic_look_every",
        "use 10 milliseconds to one day"
    );
    return config;
}

}  // namespace

relay::relay(executor_type executor, relay_config config)
    : core_(std::make_shared<detail::relay_core>(std::move(executor), checked(std::move(config)))) {
    core_->attach();
}

relay::~relay() {
    if (core_)
        core_->close();
}

relay::relay(relay&&) noexcept = default;

relay& relay::operator=(relay&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

relay::executor_type relay::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

std::vector<shard_status> relay::status() const {
    return core_->status();
}

relay_stats relay::stats() const {
    return core_->stats();
}

asio::awaitable<result<bool>> sink::has_topic(const std::string&) {
    co_return true;
}

std::string_view to_string(relay_event::kind kind) noexcept {
    switch (kind) {
    case relay_event::kind::taken:
        return "taken";
    case relay_event::kind::opened:
        return "opened";
    case relay_event::kind::sent:
        return "sent";
    case relay_event::kind::failed:
        return "failed";
    case relay_event::kind::mark_lost:
        return "mark lost";
    case relay_event::kind::refused:
        return "refused";
    case relay_event::kind::parked:
        return "parked";
    case relay_event::kind::returned:
        return "returned";
    case relay_event::kind::noticed:
        return "noticed";
    case relay_event::kind::left:
        return "left";
    case relay_event::kind::done:
        return "done";
    }
    return "?";
}

std::string_view to_string(shard_status::state state) noexcept {
    switch (state) {
    case shard_status::state::standby:
        return "standby";
    case shard_status::state::waiting:
        return "waiting";
    case shard_status::state::opening:
        return "opening";
    case shard_status::state::sending:
        return "sending";
    case shard_status::state::idle:
        return "idle";
    case shard_status::state::refused:
        return "refused";
    case shard_status::state::done:
        return "done";
    }
    return "?";
}

namespace detail {

void start_drained(code_handler handler, std::shared_ptr<relay_core> core) {
    core->drained(std::move(handler));
}

void start_lag(lag_handler handler, std::shared_ptr<relay_core> core) {
    core->lag(std::move(handler));
}

void start_listening(code_handler handler, std::shared_ptr<relay_core> core) {
    core->wait_listening(std::move(handler));
}

void start_stop(code_handler handler, std::shared_ptr<relay_core> core) {
    core->stop(std::move(handler));
}

}  // namespace detail

}  // namespace mortise::outbox
