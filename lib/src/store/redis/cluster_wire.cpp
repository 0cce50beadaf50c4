// SPDX-License-Identifier: BSL-1.0
#include "store/redis/cluster_wire.hpp"

#include "store/redis/socket_wire.hpp"
#include "store/redis/words.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

bool same(const redis_address& one, const redis_address& other) {
    return one.host == other.host && one.port == other.port;
}

// One that does not know its own name says nothing, or a question mark.
std::string host_or(std::string_view named, const std::string& own) {
    return named.empty() || named == "?" ? own : std::string(named);
}

class cluster_wire final : public redis_wire,
                           public std::enable_shared_from_this<cluster_wire>,
                           private redis_wire_events {
public:
    cluster_wire(const asio::any_io_executor& strand, cluster_settings settings)
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

    asio::awaitable<redis_failure> try_node(redis_address node);

    const asio::any_io_executor strand_;
    const cluster_settings settings_;
    redis_wire_events* events_ = nullptr;
    std::shared_ptr<redis_wire> wire_;
    bool open_ = false;
    bool closed_ = false;
};

// Asks one node after the other, those first that are said to have the slot. A node that vanished
// must not take all of the time.
asio::awaitable<redis_failure> cluster_wire::open(redis_wire_events& events) {
    constexpr std::size_t hops = 4;
    const auto kept = shared_from_this();
    events_ = &events;
    auto& nodes = *settings_.known;
    redis_failure failure;
    for (auto left = nodes.count() + hops; left != 0; --left) {
        auto trying = try_node(nodes.first());
        failure = co_await std::move(trying);
        if (closed_)
            co_return redis_failure(errc::store_unavailable, "closed");
        open_ = !failure.code;
        if (open_)
            co_return failure;
        wire_->close();
    }
    co_return failure;
}

// Connects to a node and asks it for a key of the store: it has the slot, or it says who has.
asio::awaitable<redis_failure> cluster_wire::try_node(redis_address node) {
    constexpr int at_once = 4;
    auto settings = settings_.node;
    settings.host = node.host;
    settings.port = node.port;
    settings.connect_max /= at_once;
    const auto wire = make_socket_wire(strand_, std::move(settings));
    wire_ = wire;
    auto& nodes = *settings_.known;
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (failure.code) {
        nodes.pass_by();
        failure.text = text_of(node) + ": " + failure.text;
        co_return failure;
    }
    auto asking = wire->call({"EXISTS", settings_.key});
    const auto reply = co_await std::move(asking);
    if (!reply) {
        nodes.pass_by();
        co_return redis_failure(reply.error(), text_of(node) + ": it does not answer");
    }
    if (const auto moved = parse_moved(reply->text, node.host)) {
        nodes.prefer(*moved);
        co_return redis_failure(errc::store_unavailable, text_of(node) + ": " + reply->text);
    }
    if (reply->type == redis_value::kind::error) {
        nodes.pass_by();
        co_return redis_failure(
            meaning_of_refusal(reply->text), text_of(node) + ": " + reply->text
        );
    }
    auto learning = wire->call({"CLUSTER", "SLOTS"});
    const auto slots = co_await std::move(learning);
    if (slots)
        nodes.learn(*slots, node.host);
    nodes.prefer(node);
    co_return redis_failure();
}

// A wire that is still being tried fails by its own answer.
void cluster_wire::on_closed(redis_failure why) noexcept {
    if (closed_ || !open_)
        return;
    const auto kept = shared_from_this();
    close();
    events_->on_closed(std::move(why));
}

void cluster_wire::close() noexcept {
    closed_ = true;
    if (wire_)
        wire_->close();
}

}  // namespace

cluster_nodes::cluster_nodes(const std::vector<redis_address>& named)
    : nodes_(named.begin(), named.end()) {}

void cluster_nodes::prefer(const redis_address& node) {
    const redis_address first = node;
    std::erase_if(nodes_, [&](const auto& each) { return same(each, first); });
    nodes_.push_front(first);
}

void cluster_nodes::pass_by() {
    std::rotate(nodes_.begin(), nodes_.begin() + 1, nodes_.end());
}

void cluster_nodes::add(const redis_address& node) {
    const bool known = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& each) {
        return same(each, node);
    });
    if (!known && nodes_.size() < nodes_max)
        nodes_.push_back(node);
}

// Each range of slots is its first and last one, and then its nodes: host, port, and more.
void cluster_nodes::learn(const redis_value& slots, const std::string& host) {
    for (const auto& range : slots.items) {
        for (std::size_t at = 2; at < range.items.size(); ++at) {
            const auto& node = range.items[at].items;
            if (node.size() < 2 || node[1].number < 1 || node[1].number > 65'535)
                continue;
            add({host_or(node[0].text, host), static_cast<std::uint16_t>(node[1].number)});
        }
    }
}

std::optional<redis_address> parse_moved(std::string_view message, const std::string& host) {
    if (!is_moved(message))
        return std::nullopt;
    const auto place = message.substr(message.rfind(' ') + 1);
    const auto colon = place.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    words digits(place.substr(colon + 1));
    const auto port = digits.number<std::uint16_t>();
    if (digits.failed() || !digits.at_end() || port == 0)
        return std::nullopt;
    return redis_address(host_or(place.substr(0, colon), host), port);
}

std::string text_of(const redis_address& place) {
    return place.host + ':' + std::to_string(place.port);
}

std::shared_ptr<redis_wire>
make_cluster_wire(const boost::asio::any_io_executor& strand, cluster_settings settings) {
    return std::make_shared<cluster_wire>(strand, std::move(settings));
}

}  // namespace mortise::store_detail
