// SPDX-License-Identifier: BSL-1.0
#include "feed/received_of.hpp"

#include <cstddef>
#include <utility>

namespace mortise::kafka {
namespace {

constexpr std::size_t id_max = 255;

// Makes an id from the place. A long one loses its beginning: its end distinguishes records.
std::string own_id(const consumed_record& what) {
    const std::string id = what.from.topic + "/" + std::to_string(what.from.partition) + "/" +
                           std::to_string(what.offset);
    return id.size() <= id_max ? id : id.substr(id.size() - id_max);
}

}  // namespace

std::string source_of(const std::string& cluster, const topic_partition& which) {
    return cluster + "/" + which.topic + "/" + std::to_string(which.partition);
}

// Looks for the id in the last header only: the sink adds it behind all headers of the user.
outbox::received
received_of(const std::string& source, const std::string& id_header, consumed_record what) {
    outbox::received made;
    made.source = source;
    made.offset = what.offset;
    outbox::message& into = made.what;
    if (!id_header.empty() && !what.headers.empty() && what.headers.back().name == id_header) {
        std::string id = std::move(what.headers.back().value).value_or("");
        if (!id.empty() && id.size() <= id_max)
            into.id = std::move(id);
        what.headers.pop_back();
    }
    if (into.id.empty()) {
        into.id = own_id(what);
        made.id_is_place = true;
    }
    into.topic = std::move(what.from.topic);
    into.key = std::move(what.key);
    into.payload = std::move(what.value);
    into.headers.reserve(what.headers.size());
    for (record_header& each : what.headers)
        into.headers.emplace_back(std::move(each.name), std::move(each.value).value_or(""));
    return made;
}

}  // namespace mortise::kafka
