// SPDX-License-Identifier: BSL-1.0
#include "store/redis/node_connections.hpp"

#include "store/redis/shared_wire.hpp"

#include <boost/asio/post.hpp>

#include <utility>
#include <vector>

namespace mortise::store_detail {

node_connections::~node_connections() = default;

std::shared_ptr<redis_wire>
node_connections::wire_to(const asio::any_io_executor& strand, wire_settings node) {
    return std::make_shared<shared_wire>(strand, std::move(node), shared_from_this());
}

std::shared_ptr<node_connection>
node_connections::connection_to(const asio::any_io_executor& strand, wire_settings node) {
    std::string address = node.host + ':' + std::to_string(node.port);
    auto& at = by_node_[address];
    if (!at)
        at = std::make_shared<node_connection>(
            strand, std::move(node), std::move(address), weak_from_this()
        );
    return at;
}

std::shared_ptr<const void> node_connections::keep() {
    if (auto kept = kept_.lock())
        return kept;
    const std::shared_ptr<const void> kept(this, [self = weak_from_this()](const void*) {
        if (const auto list = self.lock())
            list->close_unused();
    });
    kept_ = kept;
    return kept;
}

void node_connections::close_unused() noexcept {
    for (const auto& each : all()) {
        if (each->unused())
            each->close();
    }
}

void node_connections::forget(const node_connection& ended) noexcept {
    const auto found = by_node_.find(ended.address());
    if (found != by_node_.end() && found->second.get() == &ended)
        by_node_.erase(found);
}

std::vector<std::shared_ptr<node_connection>> node_connections::all() const {
    std::vector<std::shared_ptr<node_connection>> present;
    for (const auto& [address, connection] : by_node_)
        present.push_back(connection);
    return present;
}

void node_connections::end_all() noexcept {
    for (const auto& each : all())
        each->end(lost_connection());
}

void node_connections::hold_back(bool held) noexcept {
    for (const auto& each : all())
        each->wire().hold_back(held);
}

void node_connections::gather(const asio::any_io_executor& strand) {
    if (std::exchange(gathers_, true))
        return;
    hold_back(true);
    asio::post(strand, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->gathers_ = false;
            self->hold_back(false);
        }
    });
}

}  // namespace mortise::store_detail
