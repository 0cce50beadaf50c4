// SPDX-License-Identifier: BSL-1.0
#include "consumer/consumer_core.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/kafka/error.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace mortise::kafka::detail {
namespace {

using std::chrono::milliseconds;

// The longest turn. It is short because librdkafka must see that the consumer is alive, and the end
// of the context must be noticed.
constexpr milliseconds turn_time{500};
constexpr int identity_wait_ms = 2'000;

// How long to wait for the group to hear that this member leaves; later it goes on in the
// background.
constexpr milliseconds close_time{3'000};

// Keeps null apart from the empty text.
std::optional<std::string> text_of(const void* bytes, std::size_t size) {
    if (bytes == nullptr)
        return std::nullopt;
    return std::string(static_cast<const char*>(bytes), size);
}

// Converts a message of librdkafka that is not an error.
consumed_record record_in(const rd_kafka_message_t& message) {
    consumed_record result;
    result.from = topic_partition(::rd_kafka_topic_name(message.rkt), message.partition);
    result.offset = message.offset;
    result.key = text_of(message.key, message.key_len);
    result.value = text_of(message.payload, message.len);
    result.timestamp = ::rd_kafka_message_timestamp(&message, nullptr);
    rd_kafka_headers_t* headers = nullptr;  // owned by the message
    if (::rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return result;
    result.headers.reserve(::rd_kafka_header_cnt(headers));
    const char* name = nullptr;
    const void* bytes = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         ::rd_kafka_header_get_all(headers, i, &name, &bytes, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i)
        result.headers.emplace_back(name, text_of(bytes, size));
    return result;
}

}  // namespace

consumer_core::consumer_core(
    kafka_config config, const std::string& group, std::vector<std::string> topics
)
    : config_(std::move(config)),
      topics_(std::move(topics)),
      handle_(config_, purpose::consuming, group) {
    handle_.says().on_rebalance = [this](
                                      int code, const rd_kafka_topic_partition_list_t& partitions
                                  ) { on_rebalance(code, partitions); };
    handle_.says().on_waiting([this] { stir(); });
}

consumer_core::~consumer_core() {
    handle_.says().silence();
    handle_.says().on_rebalance = nullptr;
}

void consumer_core::check(int code) const {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw boost::system::system_error(kafka_error(code));
}

void consumer_core::stir() noexcept {
    const std::lock_guard hold(mutex_);
    stirred_ = true;
    changed_.notify_all();
}

void consumer_core::call() noexcept {
    const std::lock_guard hold(mutex_);
    called_ = true;
    changed_.notify_all();
}

void consumer_core::request_stop() noexcept {
    stopping_ = true;
    call();
}

// Waits for news. @return whether librdkafka has some; otherwise the turn is over.
bool consumer_core::wait_stirred() {
    std::unique_lock hold(mutex_);
    changed_.wait_for(hold, turn_time, [this] { return stirred_ || called_; });
    const bool called = std::exchange(called_, false);
    return std::exchange(stirred_, false) && !called;
}

void consumer_core::join() {
    if (joined_)
        return;
    handle_.open();
    check(::rd_kafka_poll_set_consumer(handle_.get()));
    const owned<rd_kafka_queue_t> news(::rd_kafka_queue_get_consumer(handle_.get()));
    handle_.listen_to(*news);
    if (!records_) {
        records_.reset(::rd_kafka_queue_new(handle_.get()));
        handle_.listen_to(*records_);
    }
    const owned<rd_kafka_topic_partition_list_t> wanted(
        ::rd_kafka_topic_partition_list_new(static_cast<int>(topics_.size()))
    );
    for (const std::string& topic : topics_)
        ::rd_kafka_topic_partition_list_add(wanted.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    check(::rd_kafka_subscribe(handle_.get(), wanted.get()));
    joined_ = true;
}

consumer_report consumer_core::turn(std::size_t rows, std::size_t bytes) {
    if (stopping_ || closing_)
        throw boost::system::system_error(asio::error::operation_aborted);
    join();
    consumer_report report;
    // Statistics may come more often than a turn ends, and are not worth a report.
    const clock::time_point end = clock::now() + turn_time;
    do {
        gather(rows, bytes, report);
        serve(report);
    } while (report.empty() && clock::now() < end && wait_stirred());
    return report;
}

std::string consumer_core::cluster_id() {
    char* const id = ::rd_kafka_clusterid(handle_.get(), identity_wait_ms);
    if (id == nullptr)
        check(RD_KAFKA_RESP_ERR__TIMED_OUT);
    std::string found = id;
    ::rd_kafka_mem_free(handle_.get(), id);
    return found;
}

// Collects everything but records: changes of the group, errors, statistics.
void consumer_core::serve(consumer_report& into) {
    while (const owned<rd_kafka_message_t> message{::rd_kafka_consumer_poll(handle_.get(), 0)})
        sort(*message, into);
    for (group_change& each : std::exchange(changes_, {}))
        into.changes.push_back(std::move(each));
    into.lost = lost_;
}

// Collects records in the order in which brokers sent them, so no partition is starved. Some may be
// of a partition that is no longer read.
void consumer_core::gather(std::size_t rows, std::size_t bytes, consumer_report& into) {
    lead_to_records();
    std::size_t size = 0;
    while (into.records.size() < rows && size < bytes) {
        const owned<rd_kafka_message_t> message(::rd_kafka_consume_queue(records_.get(), 0));
        if (!message)
            return;
        size += message->len + message->key_len;
        sort(*message, into);
    }
}

void consumer_core::sort(const rd_kafka_message_t& message, consumer_report& into) {
    const topic_partition from(
        message.rkt != nullptr ? ::rd_kafka_topic_name(message.rkt) : "", message.partition
    );
    switch (message.err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        into.records.push_back(record_in(message));
        return;
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        into.ends.emplace_back(from, message.offset);
        return;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        into.unsure.push_back(from);
        return;
    default:
        break;
    }
    consumer_failure failed;
    failed.at = from;
    failed.code = kafka_error(message.err);
    const char* const text = ::rd_kafka_message_errstr(&message);
    failed.text = handle_.says().hidden().hide_in(text != nullptr ? text : "");
    lost_ = lost_ || message.err == RD_KAFKA_RESP_ERR__FATAL ||
            ::rd_kafka_fatal_error(handle_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
    into.failures.push_back(std::move(failed));
}

// The answer comes later, from `take` and `release`: librdkafka waits for it.
void consumer_core::on_rebalance(int code, const rd_kafka_topic_partition_list_t& partitions) {
    const bool given = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    const bool taken = code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS;
    if (closing_ || (!given && !taken))
        return drop_all();
    group_change change;
    change.given = given;
    for (int i = 0; i < partitions.cnt; ++i)
        change.partitions.emplace_back(partitions.elems[i].topic, partitions.elems[i].partition);
    changes_.push_back(std::move(change));
}

bool consumer_core::cooperative() const {
    const char* const protocol = ::rd_kafka_rebalance_protocol(handle_.get());
    return protocol != nullptr && std::strcmp(protocol, "COOPERATIVE") == 0;
}

std::vector<topic_partition> consumer_core::all_read() const {
    std::vector<topic_partition> all;
    for (const auto& [partition, queue] : reading_)
        all.push_back(partition);
    return all;
}

// Detaches the queue of a partition, or librdkafka would deliver its records together with the news
// of the group.
owned<rd_kafka_queue_t> consumer_core::queue_of(const topic_partition& partition) {
    owned<rd_kafka_queue_t> queue(
        ::rd_kafka_queue_get_partition(handle_.get(), partition.topic.c_str(), partition.partition)
    );
    if (!queue)
        check(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
    ::rd_kafka_queue_forward(queue.get(), nullptr);
    handle_.listen_to(*queue);
    return queue;
}

// Forwards the queues of all partitions, on every turn. When librdkafka starts to read a partition
// anew, it undoes the forwarding at an unknown moment, and the records then wait in the partition's
// own queue.
void consumer_core::lead_to_records() {
    for (const auto& [partition, queue] : reading_)
        ::rd_kafka_queue_forward(queue.get(), records_.get());
}

consumer_core::list consumer_core::list_of(const std::vector<topic_partition>& partitions) {
    list result(::rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
    for (const topic_partition& each : partitions)
        ::rd_kafka_topic_partition_list_add(result.get(), each.topic.c_str(), each.partition);
    return result;
}

void consumer_core::release(const std::vector<topic_partition>& partitions) {
    if (!cooperative())
        return drop_all();
    std::vector<topic_partition> known;
    for (const topic_partition& each : partitions) {
        if (reading_.erase(each) != 0)
            known.push_back(each);
    }
    const list gone = list_of(known);
    const owned<rd_kafka_error_t> failed(::rd_kafka_incremental_unassign(handle_.get(), gone.get())
    );
    if (failed)
        check(::rd_kafka_error_code(failed.get()));
}

void consumer_core::drop_all() {
    if (cooperative()) {
        const list gone = list_of(all_read());
        const owned<rd_kafka_error_t> ignored(
            ::rd_kafka_incremental_unassign(handle_.get(), gone.get())
        );
    } else {
        ::rd_kafka_assign(handle_.get(), nullptr);
    }
    reading_.clear();
}

owned<rd_kafka_consumer_group_metadata_t> consumer_core::group_metadata() {
    if (::rd_kafka_assignment_lost(handle_.get()) != 0)
        return nullptr;
    return owned<rd_kafka_consumer_group_metadata_t>(::rd_kafka_consumer_group_metadata(handle_.get(
    )));
}

void consumer_core::close() noexcept {
    if (std::exchange(closing_, true) || handle_.get() == nullptr)
        return;
    const owned<rd_kafka_queue_t> events(::rd_kafka_queue_new(handle_.get()));
    const owned<rd_kafka_error_t> failed(
        ::rd_kafka_consumer_close_queue(handle_.get(), events.get())
    );
    const clock::time_point end = clock::now() + close_time;
    const auto is_closed = [&] { return ::rd_kafka_consumer_closed(handle_.get()) != 0; };
    while (!failed && !is_closed() && clock::now() < end) {
        // `on_rebalance` answers the revocation that closing causes.
        const owned<rd_kafka_message_t> none(::rd_kafka_consume_queue(events.get(), 50));
    }
    reading_.clear();
    records_.reset();
    if (is_closed())
        handle_.close();
}

}  // namespace mortise::kafka::detail
