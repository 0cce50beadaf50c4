// SPDX-License-Identifier: BSL-1.0
#include "producer/delivery_book.hpp"

#include "failure_classes.hpp"

#include <cstdint>
#include <utility>

namespace mortise::kafka::detail {

void delivery_book::open(std::size_t records) {
    *this = delivery_book();
    positions_.resize(records);
}

// Adds one: a null pointer would be no ticket.
void* delivery_book::ticket(std::size_t index) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(index + 1));
}

void delivery_book::on_report(const rd_kafka_message_t& message) {
    const std::size_t index = reinterpret_cast<std::uintptr_t>(message._private) - 1;
    if (index >= positions_.size())
        return;
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        positions_[index] = {message.partition, message.offset};
        ++delivered_;
        return;
    }
    failed_ = true;
    switch (blame_of_delivery(message.err)) {
    case blame::none:
        return;
    case blame::record:
        guilty_.emplace(index, message.err);
        return;
    case blame::topic:
        away_.emplace(index, message.err);
        return;
    case blame::neighbour:
        const batch_key key(::rd_kafka_topic_name(message.rkt), message.partition);
        refused_together_[key].emplace(index, message.err);
        return;
    }
}

void delivery_book::on_refusal(std::size_t index, int code) {
    failed_ = true;
    const blame whose = blame_of_call(code);
    if (whose == blame::record)
        guilty_.emplace(index, code);
    if (whose == blame::topic)
        away_.emplace(index, code);
}

void delivery_book::on_proof(std::size_t index, int code) {
    failed_ = true;
    guilty_.emplace(index, code);
}

void delivery_book::judge() {
    for (const auto& [key, records] : refused_together_) {
        if (records.size() == 1) {
            guilty_.insert(*records.begin());
            continue;
        }
        group all;
        all.topic = key.first;
        for (const auto& [index, code] : records) {
            all.indexes.push_back(index);
            all.too_large = all.too_large || is_of_class(code, condition::too_large);
        }
        suspects_.push_back(std::move(all));
    }
    refused_together_.clear();
}

}  // namespace mortise::kafka::detail
