// SPDX-License-Identifier: BSL-1.0
#include "settings.hpp"

#include "mortise/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>

namespace mortise::kafka {

bool is_secret(std::string_view setting) noexcept {
    constexpr std::array<std::string_view, 6> marks = {
        "password", "secret", "key.pem", "oauthbearer.config", "token", "jaas"};
    return std::any_of(marks.begin(), marks.end(), [setting](std::string_view mark) {
        return setting.find(mark) != std::string_view::npos;
    });
}

namespace detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds transaction_time_default{15'000};

struct ours_alone {
    std::string_view name;
    const char* remedy;
};
constexpr std::array<ours_alone, 5> not_here = {{
    {"bootstrap.servers", "put the addresses into kafka_config::bootstrap_servers"},
    {"metadata.broker.list", "put the addresses into kafka_config::bootstrap_servers"},
    {"transactional.id", "leave it out: the producer is given its id"},
    {"isolation.level", "leave it out: only what was committed is read"},
    {"delivery.report.only.error", "leave it out: every delivery report is needed"},
}};

struct only_so {
    std::string_view name;
    std::array<std::string_view, 3> allowed;
};
constexpr std::array<only_so, 5> exactly_once = {{
    {"enable.idempotence", {"true", "t", "1"}},
    {"acks", {"all", "-1", "-1"}},
    {"request.required.acks", {"all", "-1", "-1"}},
    {"queuing.strategy", {"fifo", "fifo", "fifo"}},
    // Without this, nothing reveals that the end of a transaction may have been requested twice.
    {"log.connection.close", {"true", "t", "1"}},
}};

// Settings that a consumer cannot choose: offsets are committed together with the work.
constexpr std::array<ours_alone, 5> not_for_consumers = {{
    {"group.id", "leave it out: the consumer is given its group"},
    {"enable.auto.commit", "leave it out: offsets are committed when the work is"},
    {"enable.auto.offset.store", "leave it out: offsets are committed when the work is"},
    {"enable.partition.eof", "leave it out: ends are needed"},
    {"offset.store.method", "leave it out: offsets are kept together with the work"},
}};

constexpr const char* reset_name = "auto.offset.reset";

constexpr std::array<std::string_view, 2> delivery_names = {
    "message.timeout.ms", "delivery.timeout.ms"};

void check_wait(const char* name, milliseconds value) {
    if (value < milliseconds(100) || value > std::chrono::hours(1))
        refuse_setting(name, "use 100 ms to one hour");
}

std::int64_t number_in(
    const kafka_config& config, std::string_view name, std::int64_t otherwise, const char* remedy
) {
    const auto found = config.settings.find(std::string(name));
    if (found == config.settings.end())
        return otherwise;
    const std::string& text = found->second;
    std::int64_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong != std::errc() || end != text.data() + text.size() || number < 1 ||
        number > 2'147'483'647)
        refuse_setting(std::string(name), remedy);
    return number;
}

milliseconds time_in(const kafka_config& config, std::string_view name, milliseconds otherwise) {
    return milliseconds(
        number_in(config, name, otherwise.count(), "give it milliseconds, above zero")
    );
}

milliseconds transaction_time(const kafka_config& config) {
    return time_in(config, "transaction.timeout.ms", transaction_time_default);
}

void set(rd_kafka_conf_t* to, const std::string& name, const std::string& value) {
    char text[512];
    switch (::rd_kafka_conf_set(to, name.c_str(), value.c_str(), text, sizeof text)) {
    case RD_KAFKA_CONF_OK:
        return;
    case RD_KAFKA_CONF_UNKNOWN:
        refuse_setting(
            name,
            std::string("librdkafka ") + ::rd_kafka_version_str() +
                " has no setting of that name, or was built without it"
        );
    default:
        refuse_setting(
            name,
            is_secret(name) ? "librdkafka does not take its value"
                            : std::string("librdkafka says: ") + text
        );
    }
}

void set_producing(
    rd_kafka_conf_t* to, const kafka_config& config, const std::string& transactional_id
) {
    // Check it here: librdkafka reports it only when the handle is created.
    for (const char* name : {"max.in.flight", "max.in.flight.requests.per.connection"}) {
        constexpr std::int64_t most = 5;
        if (number_in(config, name, most, "use 1 to 5") > most)
            refuse_setting(name, "use 1 to 5: exactly-once needs that");
    }
    set(to, "transactional.id", transactional_id);
    // Use the partitioner of Java's producers, which the shards of an outbox use as well. If the
    // number of shards divides that of a topic's partitions, no partition has messages of two
    // shards.
    if (!config.settings.contains("partitioner"))
        set(to, "partitioner", "murmur2_random");
    set(to, "transaction.timeout.ms", std::to_string(transaction_time(config).count()));
    set(to, "message.timeout.ms", std::to_string(delivery_time(config).count()));
}

bool says_any(const kafka_config& config, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) {
        return config.settings.contains(name);
    });
}

// Limits what librdkafka fetches ahead to half of the 64 MiB of a consumer. The rest is for a
// broker's answer on its way, and for the overhead of each message. An answer must be able to hold
// the largest permitted message.
void set_ahead(rd_kafka_conf_t* to, const kafka_config& config) {
    constexpr std::int64_t answer_bytes = 8 << 20;
    constexpr std::int64_t message_bytes = 1'000'000;
    if (!says_any(config, {"queued.max.messages.kbytes"}))
        set(to, "queued.max.messages.kbytes", "32768");
    if (!says_any(config, {"queued.min.messages"}))
        set(to, "queued.min.messages", "50000");
    if (says_any(config, {"fetch.max.bytes"}))
        return;
    const std::int64_t largest =
        number_in(config, "message.max.bytes", message_bytes, "give it bytes, above zero");
    set(to, "fetch.max.bytes", std::to_string(std::max(answer_bytes, largest)));
}

void set_consuming(rd_kafka_conf_t* to, const kafka_config& config, const std::string& group) {
    for (const auto& [name, remedy] : not_for_consumers) {
        if (config.settings.contains(std::string(name)))
            refuse_setting(std::string(name), remedy);
    }
    first_offset(config);
    set_ahead(to, config);
    set(to, "group.id", group);
    set(to, "enable.auto.commit", "false");
    set(to, "enable.auto.offset.store", "false");
    set(to, "enable.partition.eof", "true");
    set(to, "allow.auto.create.topics", "false");
    set(to, reset_name, "error");  // The consumer decides that before it reads a partition.
    set(to, "isolation.level", "read_committed");
}

void set_looking(rd_kafka_conf_t* to, purpose what_for) {
    set(to, "enable.partition.eof", "true");
    set(to, "allow.auto.create.topics", "false");
    set(to, reset_name, "earliest");
    set(to, "fetch.wait.max.ms", "50");
    set(to, "isolation.level", what_for == purpose::reading ? "read_committed" : "read_uncommitted"
    );
}

bool is_of_producer(std::string_view name) {
    return name == "transaction.timeout.ms" || name == delivery_names[0] ||
           name == delivery_names[1];
}

}  // namespace

void refuse_setting(const std::string& name, const std::string& remedy) {
    throw error(mortise::errc::bad_config, name, remedy);
}

milliseconds delivery_time(const kafka_config& config) {
    milliseconds time = transaction_time(config) * 3 / 4;
    for (const std::string_view name : delivery_names)
        time = time_in(config, name, time);
    return time;
}

void check_config(const kafka_config& config) {
    const bool simulated = config.settings.contains("test.mock.num.brokers");
    if (config.bootstrap_servers.empty() && !simulated)
        refuse_setting("bootstrap_servers", "name at least one broker, as host:port");
    check_wait("init_wait_max", config.init_wait_max);
    check_wait("commit_wait_max", config.commit_wait_max);
    check_wait("answer_wait_max", config.answer_wait_max);
    check_wait("topic_wait_max", config.topic_wait_max);
    for (const auto& [name, remedy] : not_here) {
        if (config.settings.contains(std::string(name)))
            refuse_setting(std::string(name), remedy);
    }
    for (const auto& [name, allowed] : exactly_once) {
        const auto found = config.settings.find(std::string(name));
        if (found != config.settings.end() &&
            std::find(allowed.begin(), allowed.end(), found->second) == allowed.end())
            refuse_setting(
                std::string(name), "leave it out: exactly-once needs " + std::string(allowed[0])
            );
    }
    if (delivery_time(config) > transaction_time(config))
        refuse_setting(
            "message.timeout.ms",
            "it must not exceed transaction.timeout.ms: a record cannot outlive its transaction"
        );
}

owned<rd_kafka_conf_t>
make_settings(const kafka_config& config, purpose what_for, const std::string& id) {
    check_config(config);
    owned<rd_kafka_conf_t> conf(::rd_kafka_conf_new());
    if (!config.bootstrap_servers.empty())
        set(conf.get(), "bootstrap.servers", config.bootstrap_servers);
    set(conf.get(), "client.id", "mortise");
    for (const auto& [name, value] : config.settings) {
        if (!is_of_producer(name))
            set(conf.get(), name, value);
    }
    switch (what_for) {
    case purpose::producing:
        set_producing(conf.get(), config, id);
        break;
    case purpose::consuming:
        set_consuming(conf.get(), config, id);
        break;
    case purpose::asking:
    case purpose::reading:
    case purpose::measuring:
        set_looking(conf.get(), what_for);
        break;
    }
    return conf;
}

std::optional<std::int64_t> first_offset(const kafka_config& config) {
    const auto found = config.settings.find(reset_name);
    const std::string wanted = found == config.settings.end() ? "earliest" : found->second;
    if (wanted == "earliest" || wanted == "beginning" || wanted == "smallest")
        return RD_KAFKA_OFFSET_BEGINNING;
    if (wanted == "latest" || wanted == "end" || wanted == "largest")
        return RD_KAFKA_OFFSET_END;
    if (wanted != "error")
        refuse_setting(reset_name, "use earliest, latest or error");
    return std::nullopt;
}

// Sorts longer secrets first: another one may be a part of them.
secrets::secrets(const std::map<std::string, std::string>& settings) {
    for (const auto& [name, value] : settings) {
        if (is_secret(name) && !value.empty())
            values_.push_back(value);
    }
    std::sort(values_.begin(), values_.end(), [](const std::string& a, const std::string& b) {
        return a.size() > b.size();
    });
}

std::string secrets::hide_in(std::string_view text) const {
    constexpr std::string_view stars = "***";
    std::string shown(text);
    for (const std::string& value : values_) {
        for (auto at = shown.find(value); at != std::string::npos;
             at = shown.find(value, at + stars.size()))
            shown.replace(at, value.size(), stars);
    }
    return shown;
}

}  // namespace detail
}  // namespace mortise::kafka
