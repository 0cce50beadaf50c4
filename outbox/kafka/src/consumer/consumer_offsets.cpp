// SPDX-License-Identifier: BSL-1.0
// Finds the offset from which a member of a group reads a partition, and tells the group offsets.
#include "consumer/consumer_core.hpp"
#include "consumer/group_offset.hpp"
#include "failure_classes.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/kafka/error.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

namespace mortise::kafka::detail {
namespace {

constexpr int ask_ms = 500;

// A leader that was just elected may not know the end of its partition yet.
constexpr std::chrono::milliseconds election_time{1'000};

std::string_view note_of(const rd_kafka_topic_partition_t& each) noexcept {
    if (each.metadata == nullptr)
        return {};
    return {static_cast<const char*>(each.metadata), each.metadata_size};
}

}  // namespace

int consumer_core::ask_ends(start_offset& start) const {
    return ::rd_kafka_query_watermark_offsets(
        handle_.get(), start.of.topic.c_str(), start.of.partition, &start.low, &start.high, ask_ms
    );
}

void consumer_core::find_begin(start_offset& start, bool skip) {
    if (start.barred) {
        start.read = false;
        return;
    }
    start.fault = {};
    if (!start.wanted) {
        if (start.announce)
            check(ask_ends(start));
        const auto first = first_offset(config_);
        start.read = first.has_value();
        start.begin = first.value_or(RD_KAFKA_OFFSET_INVALID);
        if (!first)
            start.fault = kafka_error(RD_KAFKA_RESP_ERR__NO_OFFSET);
        return;
    }
    const clock::time_point begin = clock::now();
    for (;;) {
        if (stopping_)
            throw boost::system::system_error(asio::error::operation_aborted);
        const int code = ask_ends(start);
        const auto waited = clock::now() - begin;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
            if (*start.wanted <= start.high || waited >= election_time)
                break;
        } else if (!passes_with_a_leader(code) || waited >= config_.answer_wait_max) {
            check(code);
        }
        std::unique_lock hold(mutex_);
        changed_.wait_for(hold, std::chrono::milliseconds(50), [this] { return stopping_.load(); });
    }
    start.begin = std::max(*start.wanted, start.low);
    if (*start.wanted > start.high)
        start.fault = make_error_code(errc::offset_gone);
    else if (*start.wanted < start.low && !was_read_past(start))
        start.fault = make_error_code(errc::offset_removed);
    start.read = !start.fault || (skip && start.fault == errc::offset_removed);
}

// Offsets behind the last record may hold none, only the ends of transactions. If the group's note
// says that no record follows `wanted` up to the group's offset, retention removed no record.
bool consumer_core::was_read_past(const start_offset& start) const {
    const list asked = list_of({start.of});
    check(::rd_kafka_committed(
        handle_.get(), asked.get(), static_cast<int>(config_.answer_wait_max.count())
    ));
    const rd_kafka_topic_partition_t& committed = asked->elems[0];
    check(committed.err);
    return committed.offset >= start.low &&
           offset_note::parse(note_of(committed)).dealt_with == *start.wanted;
}

std::vector<start_offset>
consumer_core::take(std::vector<start_offset> starts, bool skip, bool anew) {
    for (start_offset& each : starts)
        find_begin(each, skip);
    const list given(::rd_kafka_topic_partition_list_new(static_cast<int>(starts.size())));
    queues fresh;
    for (const start_offset& each : starts) {
        if (!each.read)
            continue;
        ::rd_kafka_topic_partition_list_add(given.get(), each.of.topic.c_str(), each.of.partition)
            ->offset = each.begin;
        fresh.insert_or_assign(each.of, queue_of(each.of));
    }
    if (cooperative()) {
        if (anew)
            drop_all();
        const owned<rd_kafka_error_t> failed(
            ::rd_kafka_incremental_assign(handle_.get(), given.get())
        );
        if (failed)
            check(::rd_kafka_error_code(failed.get()));
    } else {
        check(::rd_kafka_assign(handle_.get(), given.get()));
        reading_.clear();
    }
    fresh.merge(reading_);
    reading_.swap(fresh);
    return starts;
}

consumer_core::list consumer_core::list_of(const std::vector<group_offset>& offsets) {
    list result(::rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
    for (const group_offset& each : offsets) {
        auto* const one = ::rd_kafka_topic_partition_list_add(
            result.get(), each.of.topic.c_str(), each.of.partition
        );
        one->offset = each.next;
        if (each.note.empty())
            continue;
        one->metadata = ::strdup(each.note.c_str());  // librdkafka frees it.
        one->metadata_size = one->metadata != nullptr ? each.note.size() : 0;
    }
    return result;
}

void consumer_core::commit(const std::vector<group_offset>& offsets) noexcept {
    if (offsets.empty() || closing_)
        return;
    const list sent = list_of(offsets);
    ::rd_kafka_commit(handle_.get(), sent.get(), 1);
}

void consumer_core::announce(const std::vector<group_offset>& offsets) {
    const list sent = list_of(offsets);
    const owned<rd_kafka_queue_t> replies(::rd_kafka_queue_new(handle_.get()));
    check(::rd_kafka_commit_queue(handle_.get(), sent.get(), replies.get(), nullptr, nullptr));
    const clock::time_point end = clock::now() + config_.answer_wait_max;
    owned<rd_kafka_event_t> reply;
    while (!reply) {
        if (stopping_)
            throw boost::system::system_error(asio::error::operation_aborted);
        if (clock::now() >= end)
            check(RD_KAFKA_RESP_ERR__TIMED_OUT);
        reply.reset(::rd_kafka_queue_poll(replies.get(), slice_ms));
    }
    check(::rd_kafka_event_error(reply.get()));
    const auto* const taken = ::rd_kafka_event_topic_partition_list(reply.get());
    for (int i = 0; taken != nullptr && i < taken->cnt; ++i)
        check(taken->elems[i].err);
}

std::vector<start_offset> consumer_core::committed(const std::vector<topic_partition>& partitions) {
    const list asked = list_of(partitions);
    check(::rd_kafka_committed(
        handle_.get(), asked.get(), static_cast<int>(config_.answer_wait_max.count())
    ));
    std::vector<start_offset> found;
    for (int i = 0; i < asked->cnt; ++i) {
        const rd_kafka_topic_partition_t& each = asked->elems[i];
        check(each.err);
        std::optional<std::int64_t> next;
        if (each.offset >= 0)
            next = each.offset;
        found.emplace_back(topic_partition(each.topic, each.partition), next).note = note_of(each);
    }
    return found;
}

}  // namespace mortise::kafka::detail
