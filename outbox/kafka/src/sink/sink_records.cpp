// SPDX-License-Identifier: BSL-1.0
#include "sink/sink_records.hpp"

#include "mortise/kafka/error.hpp"
#include "sink/mark_place.hpp"

#include <chrono>
#include <utility>

namespace mortise::kafka {
namespace {

record record_of(const kafka_sink_config& config, outbox::outgoing& each) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    outbox::message& from = each.what;
    record made(std::move(from.topic), std::move(from.key), std::move(from.payload));
    made.headers.reserve(from.headers.size() + 1);
    for (outbox::header& header : from.headers)
        made.headers.emplace_back(std::move(header.name), std::move(header.value));
    if (!config.id_header.empty())
        made.headers.emplace_back(config.id_header, std::move(from.id));
    made.timestamp = duration_cast<milliseconds>(each.written.time_since_epoch()).count();
    return made;
}

}  // namespace

std::string mark_key(const std::string& table, std::uint32_t shard) {
    return table + "/" + std::to_string(shard);
}

std::int32_t mark_partition(const kafka_sink_config& config, std::uint32_t shard) {
    return static_cast<std::int32_t>(
        shard % static_cast<std::uint32_t>(config.progress_partitions)
    );
}

std::string transactional_id(const kafka_sink_config& config, const outbox::shard_name& shard) {
    return config.id_prefix + "." + shard.table + "." + std::to_string(shard.shard);
}

transaction_batch batch_of(
    const kafka_sink_config& config,
    std::span<outbox::outgoing> messages,
    const outbox::mark& after,
    const std::string& mark_there
) {
    transaction_batch batch;
    batch.records.reserve(messages.size());
    for (outbox::outgoing& each : messages)
        batch.records.push_back(record_of(config, each));
    const auto mark_of = [&](const std::string& text) {
        record mark(config.progress_topic, mark_key(after.table, after.shard), text);
        mark.partition = mark_partition(config, after.shard);
        return mark;
    };
    if (!mark_there.empty() && !messages.empty())
        batch.first = mark_of(mark_there);
    batch.last = mark_of(after.text());
    return batch;
}

outbox::published published_by(transaction_outcome outcome, std::size_t messages) {
    using kind = transaction_outcome::kind;
    using outbox::published;
    published came(published::kind::lost, outcome.code, std::move(outcome.text));
    came.notices = std::move(outcome.notices);
    switch (outcome.what) {
    case kind::committed:
        came.what = published::kind::committed;
        came.place = place_text(outcome.last);
        return came;
    case kind::again:
        came.what = published::kind::again;
        return came;
    case kind::lost:
        return came;
    case kind::refused:
        break;
    }
    // If the mark is refused, nothing can be published: opening the sink anew checks its topic.
    for (refused_record& each : outcome.refused) {
        if (each.index >= messages)
            return published(published::kind::lost, each.code, "the mark: " + each.text);
        const bool away = each.code == condition::unknown_topic;
        came.poison.emplace_back(each.index, each.code, std::move(each.text), away);
    }
    came.what = published::kind::refused;
    return came;
}

}  // namespace mortise::kafka
