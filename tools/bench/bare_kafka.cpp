// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_kafka.hpp"

#include "exit_code.hpp"
#include "failure.hpp"

#include <array>

namespace mortise::tool {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw failure(
        exit_code::unavailable, "Kafka does not do what is asked of it", what, "see its log"
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
    bare_kafka made(::rd_kafka_new(type, settings, text.data(), text.size()));
    if (!made) {
        ::rd_kafka_conf_destroy(settings);
        fail(text.data());
    }
    return made;
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

}  // namespace mortise::tool
