// SPDX-License-Identifier: BSL-1.0
#include "feed/received_of.hpp"

#include <cstddef>
#include <utility>

namespace mortise::kafka {
namespace {

constexpr std::size_t id_max = 255;

// Makes an id from the place. A long one loses its beginning: its end distinguishes records.
std::string own_id(const consumed_record& record) {
    const std::string id = record.from.topic + "/" + std::to_string(record.from.partition) + "/" +
                           std::to_string(record.offset);
    return id.size() <= id_max ? id : id.substr(id.size() - id_max);
}

}  // namespace

std::string source_of(const std::string& cluster, const topic_partition& partition) {
    return cluster + "/" + partition.topic + "/" + std::to_string(partition.partition);
}

// Looks for the id in the last header only: the sink adds it behind all headers of the user.
outbox::received
received_of(const std::string& source, const std::string& id_header, consumed_record record) {
    outbox::received result;
    result.source = source;
    result.offset = record.offset;
    outbox::message& into = result.message;
    if (!id_header.empty() && !record.headers.empty() && record.headers.back().name == id_header) {
        std::string id = std::move(record.headers.back().value).value_or("");
        if (!id.empty() && id.size() <= id_max)
            into.id = std::move(id);
        record.headers.pop_back();
    }
    if (into.id.empty()) {
        into.id = own_id(record);
        result.id_is_place = true;
    }
    into.topic = std::move(record.from.topic);
    into.key = std::move(record.key);
    into.payload = std::move(record.value);
    into.headers.reserve(record.headers.size());
    for (record_header& each : record.headers)
        into.headers.emplace_back(std::move(each.name), std::move(each.value).value_or(""));
    return result;
}

}  // namespace mortise::kafka
