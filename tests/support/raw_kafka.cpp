// SPDX-License-Identifier: BSL-1.0
#include "support/raw_kafka.hpp"

#include <array>
#include <stdexcept>

namespace mortise::test {
namespace {

void say_nothing(const rd_kafka_t*, int, const char*, const char*) {}

void set(rd_kafka_conf_t* to, const std::string& name, const std::string& value) {
    char text[512];
    if (::rd_kafka_conf_set(to, name.c_str(), value.c_str(), text, sizeof text) != RD_KAFKA_CONF_OK)
        throw std::runtime_error(text);
}

}  // namespace

raw_kafka open_raw_kafka(
    rd_kafka_type_t type, const std::string& address, const raw_kafka_settings& settings
) {
    rd_kafka_conf_t* const conf = ::rd_kafka_conf_new();
    ::rd_kafka_conf_set_log_cb(conf, &say_nothing);
    set(conf, "bootstrap.servers", address);
    set(conf, "reconnect.backoff.ms", "20");
    set(conf, "reconnect.backoff.max.ms", "100");
    for (const auto& [name, value] : settings)
        set(conf, name, value);
    char text[512];
    rd_kafka_t* const handle = ::rd_kafka_new(type, conf, text, sizeof text);
    if (handle == nullptr) {
        ::rd_kafka_conf_destroy(conf);
        throw std::runtime_error(text);
    }
    return raw_kafka(handle);
}

raw_kafka open_raw_producer(const std::string& address, raw_kafka_settings settings) {
    settings.emplace_back("enable.idempotence", "true");
    return open_raw_kafka(RD_KAFKA_PRODUCER, address, settings);
}

void check_raw_kafka(rd_kafka_error_t* error) {
    if (error == nullptr)
        return;
    const std::string text = ::rd_kafka_error_string(error);
    ::rd_kafka_error_destroy(error);
    throw std::runtime_error(text);
}

void check_raw_kafka(rd_kafka_resp_err_t code) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error(::rd_kafka_err2str(code));
}

raw_kafka_owned<const rd_kafka_metadata_t>
raw_kafka_metadata(const raw_kafka& handle, rd_kafka_topic_t* topic, int limit_ms) {
    const rd_kafka_metadata_t* metadata = nullptr;
    const int all_topics = topic == nullptr ? 1 : 0;
    if (::rd_kafka_metadata(handle.get(), all_topics, topic, &metadata, limit_ms) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return nullptr;
    return raw_kafka_owned<const rd_kafka_metadata_t>(metadata);
}

// Fills the parts by hand: librdkafka's macros for this are not standard C++.
void raw_kafka_produce(
    const raw_kafka& handle,
    const std::string& topic,
    std::int32_t partition,
    const std::string& key,
    const std::string& value
) {
    std::array<rd_kafka_vu_t, 5> parts{};
    parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    parts[0].u.cstr = topic.c_str();
    parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    parts[1].u.i32 = partition;
    parts[2].vtype = RD_KAFKA_VTYPE_KEY;
    parts[2].u.mem = {const_cast<char*>(key.data()), key.size()};
    parts[3].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[3].u.mem = {const_cast<char*>(value.data()), value.size()};
    parts[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[4].u.i = RD_KAFKA_MSG_F_COPY;
    check_raw_kafka(::rd_kafka_produceva(handle.get(), parts.data(), parts.size()));
    check_raw_kafka(::rd_kafka_flush(handle.get(), 20'000));
}

}  // namespace mortise::test
