// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_producer.hpp"

namespace mortise::tool {

// As the producer of a relay is set; see outbox/kafka/src/settings.cpp.
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

void bare_producer::send(const bench_records& what, std::uint64_t first, std::uint64_t count) {
    static const std::string id(36, 'i');
    check_kafka(::rd_kafka_begin_transaction(handle_.get()));
    for (std::uint64_t number = first; number < first + count; ++number) {
        const auto key = bench_records::key(number);
        const auto payload = what.payload(number);
        check_kafka(::rd_kafka_producev(
            handle_.get(),
            RD_KAFKA_V_TOPIC(what.topic().c_str()),
            RD_KAFKA_V_KEY(key.data(), key.size()),
            RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()),
            RD_KAFKA_V_HEADER("mortise-id", id.data(), static_cast<ssize_t>(id.size())),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_END
        ));
    }
    check_kafka(::rd_kafka_commit_transaction(handle_.get(), kafka_patience_ms));
}

}  // namespace mortise::tool
