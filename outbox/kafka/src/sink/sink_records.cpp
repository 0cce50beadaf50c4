// SPDX-License-Identifier: BSL-1.0
#include "sink/sink_records.hpp"

#include "mortise/kafka/error.hpp"

#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

namespace mortise::kafka::detail {
namespace {

template <class Number>
bool read(std::string_view text, Number& into) noexcept {
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, into);
    return failed == std::errc() && end == last && into >= 0;
}

record record_of(const kafka_sink_config& config, outbox::outgoing& each) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    outbox::message& from = each.message;
    record result(std::move(from.topic), std::move(from.key), std::move(from.payload));
    result.headers.reserve(from.headers.size() + 1);
    for (outbox::header& header : from.headers)
        result.headers.emplace_back(std::move(header.name), std::move(header.value));
    if (!config.id_header.empty())
        result.headers.emplace_back(config.id_header, std::move(from.id));
    result.timestamp = duration_cast<milliseconds>(each.written.time_since_epoch()).count();
    return result;
}

}  // namespace

std::string sink_identity(const kafka_sink_config& config, const std::string& cluster_id) {
    return older_sink_identity(config, cluster_id) +
           "?progress_partitions=" + std::to_string(config.progress_partitions) +
           "&id_prefix=" + config.id_prefix;
}

std::string older_sink_identity(const kafka_sink_config& config, const std::string& cluster_id) {
    return "kafka:" + cluster_id + "/" + config.progress_topic;
}

std::string place_text(const record_position& at) {
    return std::to_string(at.partition) + ":" + std::to_string(at.offset);
}

std::optional<record_position> parse_place(std::string_view text) {
    const auto colon = text.find(':');
    record_position at;
    if (colon == std::string_view::npos || !read(text.substr(0, colon), at.partition) ||
        !read(text.substr(colon + 1), at.offset))
        return std::nullopt;
    return at;
}

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
    published result(published::kind::lost, outcome.code, std::move(outcome.text));
    result.notices = std::move(outcome.notices);
    switch (outcome.type) {
    case kind::committed:
        result.type = published::kind::committed;
        result.place = place_text(outcome.last);
        return result;
    case kind::again:
        result.type = published::kind::again;
        return result;
    case kind::lost:
        return result;
    case kind::refused:
        break;
    }
    // If the mark is refused, nothing can be published: opening the sink anew checks its topic.
    for (refused_record& each : outcome.refused) {
        if (each.index >= messages)
            return published(published::kind::lost, each.code, "the mark: " + each.text);
        const bool away = each.code == condition::unknown_topic;
        result.poison.emplace_back(each.index, each.code, std::move(each.text), away);
    }
    result.type = published::kind::refused;
    return result;
}

}  // namespace mortise::kafka::detail
