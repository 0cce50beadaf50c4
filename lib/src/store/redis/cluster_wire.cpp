// SPDX-License-Identifier: BSL-1.0
#include "store/redis/cluster_wire.hpp"

#include "store/redis/forwarding_wire.hpp"
#include "store/redis/socket_wire.hpp"
#include "store/redis/words.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

bool has(const std::vector<redis_address>& nodes, const redis_address& node) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& each) {
        return each.host == node.host && each.port == node.port;
    });
}

// One that does not know its own name says nothing, or a question mark.
std::string host_or(std::string_view named, const std::string& own) {
    return named.empty() || named == "?" ? own : std::string(named);
}

class cluster_wire final : public forwarding_wire {
public:
    cluster_wire(const asio::any_io_executor& strand, cluster_settings settings)
        : strand_(strand), settings_(std::move(settings)) {}

    asio::awaitable<redis_failure> open(redis_wire_events& events) override;
    void close() noexcept override;

private:
    // A wire that is still being tried fails by its own answer.
    void on_closed(redis_failure why) noexcept override {
        if (open_)
            forwarding_wire::on_closed(std::move(why));
    }

    std::optional<redis_address> next() const {
        return referred_ && !has(tried_, *referred_) ? referred_ : settings_.known->next(tried_);
    }
    asio::awaitable<redis_failure> search();
    asio::awaitable<redis_failure> try_node(redis_address node);
    asio::awaitable<redis_failure> judge_slot(redis_address node);

    const asio::any_io_executor strand_;
    const cluster_settings settings_;
    std::vector<redis_address> tried_;
    std::optional<redis_address> referred_;  ///< The node that another one has named as the owner.
    bool open_ = false;
};

asio::awaitable<redis_failure> cluster_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    events_ = &events;
    auto searching = search();
    auto failure = co_await std::move(searching);
    if (closed_)
        co_return redis_failure(errc::store_unavailable, "closed");
    open_ = !failure.code;
    if (!open_ && wire_)
        wire_->close();
    co_return failure;
}

// Asks one node after the other, each once; next the one that is said to have the slot. What is
// wrong with that one counts, or else an outage: who waits waits it out.
asio::awaitable<redis_failure> cluster_wire::search() {
    redis_failure worst;
    bool of_owner = false;
    while (const auto node = next()) {
        tried_.push_back(*node);
        const bool owner = referred_ && text_of(*referred_) == text_of(*node);
        if (wire_)
            wire_->close();
        auto trying = try_node(*node);
        auto failure = co_await std::move(trying);
        if (closed_ || !failure.code || is_in_motion(failure.text))
            co_return failure;
        failure.text = text_of(*node) + ": " + failure.text;
        const bool outage = failure.code == errc::store_unavailable;
        if (owner || (!of_owner && (outage || !worst.code)))
            worst = std::move(failure);
        of_owner = of_owner || owner;
    }
    co_return worst;
}

// Connects to a node. One that vanished must not take all of the time.
asio::awaitable<redis_failure> cluster_wire::try_node(redis_address node) {
    constexpr int at_once = 4;
    auto settings = settings_.node;
    settings.host = node.host;
    settings.port = node.port;
    settings.connect_max /= at_once;
    const auto wire = settings_.connections
                          ? settings_.connections->wire_to(strand_, std::move(settings))
                          : make_socket_wire(strand_, std::move(settings));
    wire_ = wire;
    auto opening = wire->open(*this);
    auto failure = co_await std::move(opening);
    if (!failure.code) {
        auto judging = judge_slot(node);
        failure = co_await std::move(judging);
    }
    auto& nodes = *settings_.known;
    if (!failure.code)
        nodes.prefer(node);
    else if (!closed_ && !is_in_motion(failure.text))
        nodes.pass_by(node);
    co_return failure;
}

// Whether the node has the slot, by a write that changes nothing: a node that was cut off from the
// others may still answer what it is asked.
asio::awaitable<redis_failure> cluster_wire::judge_slot(redis_address node) {
    const auto wire = wire_;
    auto asking = wire->call({"HDEL", settings_.key, ""});
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return redis_failure(reply.error(), "it does not answer");
    const bool refused = reply->type == redis_value::kind::error;
    if (refused && (is_elsewhere(reply->text) || is_in_motion(reply->text))) {
        const auto owner = parse_moved(reply->text, node.host);
        if (owner)
            referred_ = owner;
        co_return redis_failure(errc::store_unavailable, reply->text);
    }
    auto learning = wire->call({"CLUSTER", "SLOTS"});
    const auto slots = co_await std::move(learning);
    if (slots)
        settings_.known->learn(*slots, node);
    co_return redis_failure();
}

void cluster_wire::close() noexcept {
    closed_ = true;
    if (wire_)
        wire_->close();
}

}  // namespace

cluster_nodes::cluster_nodes(std::vector<redis_address> named)
    : named_(std::move(named)), nodes_(named_) {}

std::optional<redis_address> cluster_nodes::next(const std::vector<redis_address>& tried) const {
    for (const auto& each : nodes_) {
        if (!has(tried, each))
            return each;
    }
    return std::nullopt;
}

void cluster_nodes::prefer(const redis_address& node) {
    const redis_address first = node;
    std::erase_if(nodes_, [&](const auto& each) { return text_of(each) == text_of(first); });
    nodes_.insert(nodes_.begin(), first);
}

void cluster_nodes::pass_by(const redis_address& node) {
    const auto is_it = [&](const auto& each) { return text_of(each) == text_of(node); };
    const auto at = std::find_if(nodes_.begin(), nodes_.end(), is_it);
    if (at != nodes_.end())
        std::rotate(at, at + 1, nodes_.end());
}

void cluster_nodes::add(const redis_address& node) {
    if (!has(nodes_, node) && nodes_.size() < nodes_max)
        nodes_.push_back(node);
}

// Each range of slots is its first and last one, and then its nodes: host, port, and more.
void cluster_nodes::learn(const redis_value& slots, const redis_address& from) {
    if (slots.type != redis_value::kind::array)
        return;
    nodes_.assign(1, from);
    for (const auto& range : slots.items) {
        for (std::size_t at = 2; at < range.items.size(); ++at) {
            const auto& node = range.items[at].items;
            if (node.size() < 2 || node[1].number < 1 || node[1].number > 65'535)
                continue;
            add({host_or(node[0].text, from.host), static_cast<std::uint16_t>(node[1].number)});
        }
    }
    for (const auto& each : named_)
        add(each);
}

std::optional<redis_address> parse_moved(std::string_view message, const std::string& host) {
    if (!message.starts_with("MOVED "))
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
