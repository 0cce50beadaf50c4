// SPDX-License-Identifier: BSL-1.0
#include "store/redis/sentinel_wire.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

class sentinel_wire final : public redis_wire,
                            public std::enable_shared_from_this<sentinel_wire>,
                            private redis_wire_events {
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

    asio::awaitable<result<std::vector<redis_value>>> pipeline(std::vector<redis_command> commands
    ) override {
        return wire_->pipeline(std::move(commands));
    }

    void close() noexcept override;

private:
    void on_push(redis_value push) noexcept override { events_->on_push(std::move(push)); }
    void on_closed(redis_failure why) noexcept override;
    bool listens() const noexcept override { return events_->listens(); }

    const asio::any_io_executor strand_;
    const sentinel_settings settings_;
    redis_wire_events* events_ = nullptr;
    std::shared_ptr<sentinel_circle> circle_;
    std::shared_ptr<redis_wire> wire_;
    bool closed_ = false;
};

asio::awaitable<redis_failure> sentinel_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    events_ = &events;
    const auto circle = std::make_shared<sentinel_circle>(
        strand_, settings_.sentinels, settings_.primary_name, events.listens()
    );
    circle_ = circle;
    auto finding = circle->find();
    auto found = co_await std::move(finding);
    if (closed_)
        co_return redis_failure(errc::store_unavailable, "closed");
    const auto& remembered = settings_.remembered;
    if (!found.failure.code) {
        *remembered = found;
    } else if (found.failure.code == errc::store_unavailable && !remembered->host.empty()) {
        found = *remembered;
    } else {
        circle->close();
        co_return found.failure;
    }
    auto server = settings_.server;
    server.host = found.host;
    server.port = found.port;
    const auto wire = make_boost_wire(strand_, std::move(server));
    wire_ = wire;
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (failure.code || closed_ || !events.listens()) {
        circle->close();
    } else {
        circle->watch(found, [weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->on_closed({errc::store_unavailable, "the sentinels name another primary"});
        });
    }
    co_return failure;
}

// Called when the server closes the connection, or when it is no longer the primary.
void sentinel_wire::on_closed(redis_failure why) noexcept {
    if (closed_)
        return;
    const auto kept = shared_from_this();
    close();
    events_->on_closed(std::move(why));
}

void sentinel_wire::close() noexcept {
    closed_ = true;
    if (circle_)
        circle_->close();
    if (wire_)
        wire_->close();
}

}  // namespace

std::shared_ptr<redis_wire>
make_sentinel_wire(const boost::asio::any_io_executor& strand, sentinel_settings settings) {
    return std::make_shared<sentinel_wire>(strand, std::move(settings));
}

}  // namespace mortise::store_detail
