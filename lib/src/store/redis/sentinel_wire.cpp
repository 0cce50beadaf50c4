// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinel_wire.hpp"

#include "store/redis/deaf_wire_events.hpp"
#include "store/redis/words.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

class sentinel_wire final : public redis_wire, public std::enable_shared_from_this<sentinel_wire> {
public:
    sentinel_wire(const asio::any_io_executor& strand, sentinel_settings settings)
        : strand_(strand), settings_(std::move(settings)) {}

    asio::awaitable<redis_failure> open(redis_wire_events& events) override;

    asio::awaitable<redis_failure> subscribe(std::string channel) override {
        return wire_->subscribe(std::move(channel));
    }

    asio::awaitable<result<redis_value>> call(redis_command command) override {
        return wire_->call(std::move(command));
    }

    void close() noexcept override {
        closed_ = true;
        if (asked_)
            asked_->close();
        if (wire_)
            wire_->close();
    }

private:
    asio::awaitable<redis_failure> ask(const wire_settings& sentinel, wire_settings& server);

    const asio::any_io_executor strand_;
    const sentinel_settings settings_;
    deaf_wire_events deaf_;
    std::shared_ptr<redis_wire> asked_;
    std::shared_ptr<redis_wire> wire_;
    bool closed_ = false;
};

asio::awaitable<redis_failure> sentinel_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    auto server = settings_.server;
    redis_failure failure(errc::store_unavailable, "no sentinel is named");
    for (const auto& sentinel : settings_.sentinels) {
        auto asking = ask(sentinel, server);
        failure = co_await std::move(asking);
        if (!failure.code || closed_)
            break;
    }
    if (closed_)
        co_return redis_failure(errc::store_unavailable, "closed");
    if (failure.code)
        co_return failure;
    wire_ = make_boost_wire(strand_, std::move(server));
    auto opening = wire_->open(events);
    co_return co_await std::move(opening);
}

// One of them. @param server gets host and port.
asio::awaitable<redis_failure>
sentinel_wire::ask(const wire_settings& sentinel, wire_settings& server) {
    const auto name = "sentinel " + sentinel.host + ':' + std::to_string(sentinel.port) + ": ";
    asked_ = make_boost_wire(strand_, sentinel);
    auto opening = asked_->open(deaf_);
    auto failure = co_await std::move(opening);
    if (failure.code)
        co_return redis_failure(failure.code, name + failure.text);
    auto asking = asked_->call({"SENTINEL", "get-master-addr-by-name", settings_.primary_name});
    const auto said = co_await std::move(asking);
    asked_->close();
    if (!said)
        co_return redis_failure(said.error(), name + "it does not answer");
    if (said->what == redis_value::kind::error)
        co_return redis_failure(meaning_of_refusal(said->text), name + said->text);
    if (said->items.size() != 2)
        co_return redis_failure(
            errc::bad_config, name + "it knows no primary named " + settings_.primary_name
        );
    words port(said->items[1].text);
    server.host = said->items[0].text;
    server.port = port.number<std::uint16_t>();
    if (port.failed() || server.host.empty())
        co_return redis_failure(errc::wrong_server, name + "it names no address");
    co_return redis_failure();
}

}  // namespace

std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings) {
    return std::make_shared<sentinel_wire>(strand, std::move(settings));
}

}  // namespace mortise::store_detail
