// SPDX-License-Identifier: BSL-1.0
#include "consumer/record_in.hpp"

#include <cstddef>

namespace mortise::kafka {
namespace {

// Keeps null apart from the empty text.
std::optional<std::string> text_of(const void* bytes, std::size_t size) {
    if (bytes == nullptr)
        return std::nullopt;
    return std::string(static_cast<const char*>(bytes), size);
}

}  // namespace

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

}  // namespace mortise::kafka
