// SPDX-License-Identifier: BSL-1.0
#include "cluster/cluster_core.hpp"

#include "failure_classes.hpp"
#include "mortise/kafka/error.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <memory>
#include <utility>

namespace mortise::kafka::detail {
namespace {

void check(int code) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw boost::system::system_error(kafka_error(code));
}

// Reads the code of the one topic that an answer is about.
int code_of_creation(const rd_kafka_event_t& answer) {
    if (const int code = ::rd_kafka_event_error(const_cast<rd_kafka_event_t*>(&answer)))
        return code;
    std::size_t count = 0;
    const auto* const result =
        ::rd_kafka_event_CreateTopics_result(const_cast<rd_kafka_event_t*>(&answer));
    const auto* const topics = ::rd_kafka_CreateTopics_result_topics(result, &count);
    return count == 1 ? ::rd_kafka_topic_result_error(topics[0]) : RD_KAFKA_RESP_ERR__FAIL;
}

}  // namespace

cluster_core::cluster_core(kafka_config config)
    : config_(std::move(config)), handle_(config_, purpose::asking) {}

void cluster_core::check_going() const {
    if (stopping_)
        throw boost::system::system_error(asio::error::operation_aborted);
}

int cluster_core::until_clear(const std::function<int()>& ask) {
    const clock::time_point end = clock::now() + config_.answer_wait_max;
    says().take_failure();
    for (;;) {
        check_going();
        const int code = ask();
        if (!passes_by_itself(code)) {
            // A broker's answer proves that the connection works.
            if (code >= 0 && !is_of_class(code, condition::not_authorized))
                says().forget_trouble();
            return code;
        }
        ::rd_kafka_poll(handle_.get(), 20);  // To learn why a connection failed.
        // A refused login is refused again on the next try.
        if (const int failed = says().take_failure();
            is_of_class(failed, condition::not_authorized))
            return failed;
        if (clock::now() >= end)
            return code;
    }
}

std::string cluster_core::id() {
    handle_.open();
    std::string found;
    check(until_clear([&] {
        char* const text = ::rd_kafka_clusterid(handle_.get(), slice_ms);
        if (text == nullptr)
            return RD_KAFKA_RESP_ERR__TIMED_OUT;
        found = text;
        ::rd_kafka_mem_free(handle_.get(), text);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    }));
    return found;
}

int cluster_core::partitions_of(const std::string& topic) {
    handle_.open();
    const owned<rd_kafka_topic_t> asked(::rd_kafka_topic_new(handle_.get(), topic.c_str(), nullptr)
    );
    if (!asked)
        check(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
    int partitions = 0;
    const int code = until_clear([&]() -> int {
        const rd_kafka_metadata_t* raw = nullptr;
        if (const int failed = ::rd_kafka_metadata(handle_.get(), 0, asked.get(), &raw, slice_ms))
            return failed;
        const owned<const rd_kafka_metadata_t> metadata(raw);
        if (metadata->topic_cnt != 1)
            return RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
        partitions = metadata->topics[0].partition_cnt;
        return metadata->topics[0].err;
    });
    if (is_of_class(code, condition::unknown_topic))
        return 0;
    check(code);
    return partitions;
}

bool cluster_core::ensure(const topic_wish& topic) {
    if (const int partitions = partitions_of(topic.name)) {
        compare(topic, partitions);
        return false;
    }
    if (create(topic))
        return true;
    compare(topic, partitions_of(topic.name));  // Another program was faster.
    return false;
}

owned<rd_kafka_AdminOptions_t> cluster_core::options(rd_kafka_admin_op_t operation) const {
    owned<rd_kafka_AdminOptions_t> admin_options(
        ::rd_kafka_AdminOptions_new(handle_.get(), operation)
    );
    const int wait = static_cast<int>(config_.answer_wait_max.count());
    std::array<char, 256> text{};
    ::rd_kafka_AdminOptions_set_request_timeout(
        admin_options.get(), wait, text.data(), text.size()
    );
    return admin_options;
}

// Waits for an answer; librdkafka limits the wait.
owned<rd_kafka_event_t> cluster_core::answer(rd_kafka_queue_t* queue) {
    for (;;) {
        check_going();
        owned<rd_kafka_event_t> event(::rd_kafka_queue_poll(queue, slice_ms));
        if (event)
            return event;
    }
}

bool cluster_core::create(const topic_wish& topic) {
    std::array<char, 256> text{};
    const owned<rd_kafka_NewTopic_t> wanted(::rd_kafka_NewTopic_new(
        topic.name.c_str(), topic.partitions, topic.replicas, text.data(), text.size()
    ));
    if (!wanted)
        check(RD_KAFKA_RESP_ERR__INVALID_ARG);
    auto settings = topic.settings;
    if (topic.compacted)
        settings["cleanup.policy"] = "compact";
    for (const auto& [name, value] : settings)
        check(::rd_kafka_NewTopic_set_config(wanted.get(), name.c_str(), value.c_str()));

    const owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(handle_.get()));
    const auto how = options(RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_NewTopic_t* topics[] = {wanted.get()};
    ::rd_kafka_CreateTopics(handle_.get(), topics, 1, how.get(), queue.get());
    const auto event = answer(queue.get());
    const int code = code_of_creation(*event);
    if (code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return false;
    check(code);
    // Wait until the brokers know the topic and it can be written to.
    check(until_clear([&]() -> int {
        return partitions_of(topic.name) == topic.partitions
                   ? RD_KAFKA_RESP_ERR_NO_ERROR
                   : RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
    }));
    return true;
}

void cluster_core::compare(const topic_wish& topic, int partitions) {
    const auto policy = clean_up_policy(topic.name);
    // With "compact,delete" the newest record of a key is deleted, too, once it is old enough.
    const bool fits = !policy || (topic.compacted ? *policy == "compact"
                                                  : policy->find("compact") == std::string::npos);
    if (partitions == topic.partitions && fits)
        return;
    std::string text = "topic " + topic.name;
    if (partitions != topic.partitions)
        text += " has " + std::to_string(partitions) + " partitions and not " +
                std::to_string(topic.partitions);
    else
        text += " has cleanup.policy=" + *policy + ": set it to " +
                (topic.compacted ? "compact alone, or marks are deleted with their age" : "delete");
    says().note_trouble(text);
    throw boost::system::system_error(make_error_code(errc::topic_differs), text);
}

// Reads the clean-up policy; none if the login may not see it.
std::optional<std::string> cluster_core::clean_up_policy(const std::string& topic) {
    const owned<rd_kafka_ConfigResource_t> asked(
        ::rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str())
    );
    const owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(handle_.get()));
    const auto how = options(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_ConfigResource_t* resources[] = {asked.get()};
    ::rd_kafka_DescribeConfigs(handle_.get(), resources, 1, how.get(), queue.get());
    const auto event = answer(queue.get());
    check(::rd_kafka_event_error(event.get()));
    std::size_t count = 0;
    const auto* const result = ::rd_kafka_event_DescribeConfigs_result(event.get());
    const auto* const answers = ::rd_kafka_DescribeConfigs_result_resources(result, &count);
    if (count != 1)
        check(RD_KAFKA_RESP_ERR__FAIL);
    const int code = ::rd_kafka_ConfigResource_error(answers[0]);
    if (is_of_class(code, condition::not_authorized))
        return std::nullopt;
    check(code);
    const auto* const entries = ::rd_kafka_ConfigResource_configs(answers[0], &count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::string name = ::rd_kafka_ConfigEntry_name(entries[i]);
        const char* const value = ::rd_kafka_ConfigEntry_value(entries[i]);
        if (name == "cleanup.policy" && value != nullptr)
            return value;
    }
    return std::nullopt;
}

}  // namespace mortise::kafka::detail
