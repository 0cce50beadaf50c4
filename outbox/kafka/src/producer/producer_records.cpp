// SPDX-License-Identifier: BSL-1.0
// Sends the records of a batch.
#include "mortise/coro/detail/crash_point.hpp"
#include "producer/batch_records.hpp"
#include "producer/producer_calls.hpp"

#include <array>
#include <optional>
#include <utility>

namespace mortise::kafka::detail {
namespace {

// Keeps null apart from the empty text.
void* bytes_of(const std::optional<std::string>& text) {
    return text ? const_cast<char*>(text->data()) : nullptr;
}

std::size_t length_of(const std::optional<std::string>& text) {
    return text ? text->size() : 0;
}

owned<rd_kafka_headers_t> headers_of(const record& record) {
    owned<rd_kafka_headers_t> headers;
    if (record.headers.empty())
        return headers;
    headers.reset(::rd_kafka_headers_new(record.headers.size()));
    for (const record_header& header : record.headers)
        ::rd_kafka_header_add(
            headers.get(),
            header.name.data(),
            static_cast<ssize_t>(header.name.size()),
            bytes_of(header.value),
            static_cast<ssize_t>(length_of(header.value))
        );
    return headers;
}

}  // namespace

// Produces all records. A refused record does not end it: others may be at fault, too.
bool producer_calls::produce_all(const transaction_batch& batch, batch_pacing& pacing) {
    last_failure_ = {};
    if (batch.first && !produce(*batch.first, index_of_first(batch)))
        return false;
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
        if (!produce_in_turn(batch.records[i], i, pacing))
            return false;
        if (i == batch.records.size() / 2)
            MORTISE_CRASH_POINT("kafka.half_produced");
    }
    if (book_.failed()) {
        last_failure_ = why_not();
        return false;
    }
    if (!batch.last)
        return true;
    // Flush before the mark. A late request for this transaction may end it early (KAFKA-17754),
    // and then the mark must not be committed without the records that it stands for.
    if (!(batch.records.empty() && !batch.first) && !flush())
        return false;
    MORTISE_CRASH_POINT("kafka.before_last");
    if (!produce(*batch.last, index_of_last(batch)))
        return false;
    if (book_.failed())
        last_failure_ = why_not();
    return !book_.failed();
}

bool producer_calls::produce_in_turn(
    const record& record, std::size_t index, batch_pacing& pacing
) {
    if (pacing.pause_is_due(record, index)) {
        pacing.on_pause();
        if (!flush())
            return false;
    }
    pacing.on_sent(record);
    return produce(record, index);
}

bool producer_calls::produce(const record& record, std::size_t index) {
    std::optional<clock::time_point> end;
    for (;;) {
        const int code = hand_over(record, index);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return true;
        if (!end)
            end = clock::now() + delivery_time(config_);
        if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL && clock::now() < *end && !stopping_) {
            ::rd_kafka_poll(handle_.get(), slice_ms);  // Until something was sent.
            continue;
        }
        if (blame_of_call(code) != blame::none) {
            book_.on_refusal(index, code);
            return true;
        }
        last_failure_ = why_not();
        if (!last_failure_.failed())
            last_failure_.answer = {code, false, true, false};
        return false;
    }
}

// Fills the array by hand: librdkafka's macros for it are not standard C++.
int producer_calls::hand_over(const record& record, std::size_t index) {
    owned<rd_kafka_headers_t> headers = headers_of(record);
    std::array<rd_kafka_vu_t, 8> parts{};
    parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    parts[0].u.cstr = record.topic.c_str();
    parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    parts[1].u.i32 = record.partition.value_or(RD_KAFKA_PARTITION_UA);
    parts[2].vtype = RD_KAFKA_VTYPE_KEY;
    parts[2].u.mem = {bytes_of(record.key), length_of(record.key)};
    parts[3].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[3].u.mem = {bytes_of(record.value), length_of(record.value)};
    parts[4].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
    parts[4].u.i64 = record.timestamp.value_or(0);
    parts[5].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[5].u.i = RD_KAFKA_MSG_F_COPY;
    parts[6].vtype = RD_KAFKA_VTYPE_OPAQUE;
    parts[6].u.ptr = delivery_book::ticket(index);
    parts[7].vtype = RD_KAFKA_VTYPE_HEADERS;
    parts[7].u.headers = headers.get();
    const std::size_t count = headers ? parts.size() : parts.size() - 1;
    const owned<rd_kafka_error_t> error(::rd_kafka_produceva(handle_.get(), parts.data(), count));
    if (error)
        return ::rd_kafka_error_code(error.get());
    static_cast<void>(headers.release());  // librdkafka owns them now.
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

// Finds out whether the transaction has failed, and why: only the next call tells. The first call
// names no topic and so does nothing, but it reports a failed transaction first. The second call
// begins no transaction while one is open, and only returns the reason.
producer_calls::failure producer_calls::why_not() {
    if (::rd_kafka_producev(handle_.get(), RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__INVALID_ARG)
        return {};
    const owned<rd_kafka_error_t> error(::rd_kafka_begin_transaction(handle_.get()));
    if (error)
        return failure_of(*error);
    failure impossible;
    impossible.answer = {RD_KAFKA_RESP_ERR__STATE, true, false, false};
    impossible.text = "no transaction was open";
    return impossible;
}

producer_calls::failure producer_calls::try_alone(const record& record) {
    book_.open(1);
    last_failure_ = begin();
    if (!last_failure_.failed() && produce(record, 0) && !book_.failed())
        flush();
    return last_failure_;
}

// Waits until every record is acknowledged or has failed; librdkafka gives up on a record in time.
bool producer_calls::flush() {
    const clock::time_point end = clock::now() + delivery_time(config_) + std::chrono::seconds(1);
    while (!stopping_ && clock::now() < end) {
        const int code = ::rd_kafka_flush(handle_.get(), slice_ms);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR__TIMED_OUT) {
            last_failure_.answer = {code, false, true, false};
            return false;
        }
        last_failure_ = why_not();
        if (last_failure_.failed())
            return false;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return true;
    }
    last_failure_.answer = {RD_KAFKA_RESP_ERR__TIMED_OUT, false, true, false};
    return false;
}

}  // namespace mortise::kafka::detail
