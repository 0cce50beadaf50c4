// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_kafka.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"

#include <array>

namespace mortise::tool {
namespace {

[[noreturn]] void fail(const std::string& problem) {
    throw failure(
        exit_code::unavailable, "Kafka does not do what is asked of it", problem, "see its log"
    );
}

}  // namespace

void check_kafka(rd_kafka_error_t* failed) {
    if (failed == nullptr)
        return;
    const std::string text = ::rd_kafka_error_string(failed);
    ::rd_kafka_error_destroy(failed);
    fail(text);
}

void check_kafka(rd_kafka_resp_err_t failed) {
    if (failed != RD_KAFKA_RESP_ERR_NO_ERROR)
        fail(::rd_kafka_err2str(failed));
}

bare_kafka
open_bare_kafka(rd_kafka_type_t type, const std::string& servers, const bare_kafka_settings& more) {
    rd_kafka_conf_t* const settings = ::rd_kafka_conf_new();
    std::array<char, 512> text{};
    bare_kafka_settings all{{"bootstrap.servers", servers}, {"log_level", "0"}};
    all.insert(all.end(), more.begin(), more.end());
    for (const auto& [name, value] : all) {
        if (::rd_kafka_conf_set(settings, name.c_str(), value.c_str(), text.data(), text.size()) ==
            RD_KAFKA_CONF_OK)
            continue;
        ::rd_kafka_conf_destroy(settings);
        fail(text.data());
    }
    bare_kafka opened(::rd_kafka_new(type, settings, text.data(), text.size()));
    if (!opened) {
        ::rd_kafka_conf_destroy(settings);
        fail(text.data());
    }
    return opened;
}

void remove_topics(const std::string& servers, const std::vector<std::string>& names) noexcept {
    try {
        const auto handle = open_bare_kafka(RD_KAFKA_PRODUCER, servers, {});
        std::vector<rd_kafka_DeleteTopic_t*> asked;
        for (const auto& each : names)
            asked.push_back(::rd_kafka_DeleteTopic_new(each.c_str()));
        rd_kafka_queue_t* const answers = ::rd_kafka_queue_new(handle.get());
        ::rd_kafka_DeleteTopics(handle.get(), asked.data(), asked.size(), nullptr, answers);
        rd_kafka_event_t* const answer = ::rd_kafka_queue_poll(answers, kafka_patience_ms);
        if (answer != nullptr)
            ::rd_kafka_event_destroy(answer);
        ::rd_kafka_queue_destroy(answers);
        ::rd_kafka_DeleteTopic_destroy_array(asked.data(), asked.size());
    } catch (...) {
        return;  // the topics stay
    }
}

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
void bare_producer::send(const bench_records& records, std::uint64_t first, std::uint64_t count) {
    static const std::string id(36, 'i');
    check_kafka(::rd_kafka_begin_transaction(handle_.get()));
    for (std::uint64_t number = first; number < first + count; ++number) {
        const auto key = bench_records::key(number);
        const auto payload = records.payload(number);
        std::array<rd_kafka_vu_t, 5> parts{};
        parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
        parts[0].u.cstr = records.topic().c_str();
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
