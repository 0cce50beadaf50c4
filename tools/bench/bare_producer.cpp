// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_producer.hpp"

#include <array>

namespace mortise::tool {

// Uses the settings of a relay's producer; see outbox/kafka/src/settings.cpp.
bare_producer::bare_producer(const std::string& servers, const std::string& transactional_id)
    : handle_(open_bare_kafka(
          RD_KAFKA_PRODUCER,
          servers,
          {{"transactional.id", transactional_id},
           {"partitioner", "murmur2_random"},
           {"transaction.timeout.ms", "15000"},
           {"message.timeout.ms", "11250"}}
      )) {
    check_kafka(::rd_kafka_init_transactions(handle_.get(), kafka_patience_ms));
}

// Avoids librdkafka's macros for this call: they are not standard C++.
void bare_producer::send(const bench_records& what, std::uint64_t first, std::uint64_t count) {
    static const std::string id(36, 'i');
    check_kafka(::rd_kafka_begin_transaction(handle_.get()));
    for (std::uint64_t number = first; number < first + count; ++number) {
        const auto key = bench_records::key(number);
        const auto payload = what.payload(number);
        std::array<rd_kafka_vu_t, 5> parts{};
        parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
        parts[0].u.cstr = what.topic().c_str();
        parts[1].vtype = RD_KAFKA_VTYPE_KEY;
        parts[1].u.mem = {const_cast<char*>(key.data()), key.size()};
        parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
        parts[2].u.mem = {const_cast<char*>(payload.data()), payload.size()};
        parts[3].vtype = RD_KAFKA_VTYPE_HEADER;
        parts[3].u.header = {"mortise-id", id.data(), static_cast<ssize_t>(id.size())};
        parts[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
        parts[4].u.i = RD_KAFKA_MSG_F_COPY;
        check_kafka(::rd_kafka_produceva(handle_.get(), parts.data(), parts.size()));
    }
    check_kafka(::rd_kafka_commit_transaction(handle_.get(), kafka_patience_ms));
}

}  // namespace mortise::tool
