// SPDX-License-Identifier: BSL-1.0
#include "support/kafka_broker.hpp"

#include "support/eventually.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace mortise::test {
namespace {

constexpr const char* configuration = "server.properties";
constexpr const char* log_file = "log";
constexpr auto start_limit = std::chrono::seconds(60);
constexpr auto stop_limit = std::chrono::seconds(30);
constexpr int ask_limit_ms = 15'000;

std::string read_all(const std::filesystem::path& from) {
    std::ostringstream text;
    text << std::ifstream(from).rdbuf();
    return text.str();
}

void write_all(const std::filesystem::path& to, const std::string& text) {
    std::ofstream file(to);
    if (!(file << text).flush())
        throw std::runtime_error(to.string() + " cannot be written");
}

void put(std::string& text, std::string_view mark, const std::string& value) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
        text.replace(at, mark.size(), value);
}

// Takes one answer of the admin interface about one topic.
rd_kafka_resp_err_t take_answer(const raw_kafka_owned<rd_kafka_queue_t>& queue) {
    const raw_kafka_owned<rd_kafka_event_t> event(::rd_kafka_queue_poll(queue.get(), ask_limit_ms));
    if (!event)
        throw std::runtime_error("the broker does not answer to an administrator");
    if (::rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error(::rd_kafka_event_error_string(event.get()));
    std::size_t count = 0;
    const rd_kafka_topic_result_t** results = nullptr;
    if (const auto* creation = ::rd_kafka_event_CreateTopics_result(event.get()))
        results = ::rd_kafka_CreateTopics_result_topics(creation, &count);
    else if (const auto* deletion = ::rd_kafka_event_DeleteTopics_result(event.get()))
        results = ::rd_kafka_DeleteTopics_result_topics(deletion, &count);
    if (count != 1)
        throw std::runtime_error("the broker answers about another number of topics");
    return ::rd_kafka_topic_result_error(results[0]);
}

bool has_leaders(const rd_kafka_metadata_topic_t& topic) {
    for (int i = 0; i < topic.partition_cnt; ++i) {
        if (topic.partitions[i].leader < 0)
            return false;
    }
    return topic.err == RD_KAFKA_RESP_ERR_NO_ERROR && topic.partition_cnt > 0;
}

// Whether the leader answers: it is elected a moment before it knows that.
bool leads(const raw_kafka& handle, const std::string& topic, std::int32_t partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    return ::rd_kafka_query_watermark_offsets(
               handle.get(), topic.c_str(), partition, &low, &high, ask_limit_ms
           ) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

kafka_broker::kafka_broker(settings chosen, raw_kafka_settings login)
    : chosen_(std::move(chosen)), login_(std::move(login)) {
    format();
    write_configuration();
    start();
}

raw_kafka kafka_broker::administrator() const {
    return open_raw_kafka(RD_KAFKA_PRODUCER, address(), login_);
}

// Writes the one file that the broker asks of a new folder.
void kafka_broker::format() {
    cluster_id_ = fresh_name("cluster");
    const std::filesystem::path place = folder_.path() / "data";
    std::filesystem::remove_all(place);
    std::filesystem::create_directory(place);
    write_all(place / "meta.properties", "version=1\nnode.id=1\ncluster.id=" + cluster_id_ + "\n");
}

void kafka_broker::write_configuration() const {
    std::string text = read_all(MORTISE_KAFKA_FOLDER "/server.properties");
    for (const std::string& line : chosen_)
        text += line + "\n";
    put(text, "@broker_port@", std::to_string(port()));
    put(text, "@controller_port@", std::to_string(controller_port_.port()));
    put(text, "@data@", (folder_.path() / "data").string());
    write_all(folder_.path() / configuration, text);
}

std::string kafka_broker::log() const {
    return read_all(folder_.path() / log_file);
}

child_program& kafka_broker::running() const {
    if (!process_)
        throw std::logic_error("the broker does not run");
    return *process_;
}

void kafka_broker::start(data contents) {
    if (runs())
        throw std::logic_error("the broker runs already");
    if (contents == data::lost)
        format();
    std::vector<std::string> command = {
        MORTISE_JAVA,
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Djava.net.preferIPv4Stack=true",
        "-Dlog4j.configuration=file:" MORTISE_KAFKA_FOLDER "/log4j.properties"};
    const std::string archive = MORTISE_KAFKA_LIBS "/../classes.jsa";
    if (std::filesystem::exists(archive))  // else it only starts more slowly
        command.insert(command.end(), {"-Xlog:cds=off", "-XX:SharedArchiveFile=" + archive});
    const std::string file = (folder_.path() / configuration).string();
    command.insert(command.end(), {"-cp", MORTISE_KAFKA_LIBS "/*", "kafka.Kafka", file});
    process_ = std::make_unique<child_program>(command, folder_.path() / log_file);
    const raw_kafka handle = administrator();
    bool answered = false;
    eventually([&] { return (answered = answers(handle)) || process_->ended(); }, start_limit);
    if (!answered) {
        process_.reset();
        throw std::runtime_error("the Kafka broker does not answer:\n" + log());
    }
}

bool kafka_broker::answers(const raw_kafka& handle) const {
    const auto metadata = raw_kafka_metadata(handle, nullptr, 100);
    if (!metadata || metadata->broker_cnt != 1)
        return false;
    for (int i = 0; i < metadata->topic_cnt; ++i) {
        if (!has_leaders(metadata->topics[i]))
            return false;
    }
    return true;
}

void kafka_broker::stop() {
    running().send(SIGTERM);
    await_end();
}

void kafka_broker::kill() {
    running().send(SIGKILL);
    await_end();
}

void kafka_broker::await_end() {
    const bool ended = running().wait(stop_limit).has_value();
    process_.reset();
    if (!ended)
        throw std::runtime_error("the Kafka broker does not end:\n" + log());
}

void kafka_broker::create_topic(
    const std::string& name, int partitions, const raw_kafka_settings& configs
) {
    char text[512];
    const raw_kafka_owned<rd_kafka_NewTopic_t> wanted(
        ::rd_kafka_NewTopic_new(name.c_str(), partitions, 1, text, sizeof text)
    );
    if (!wanted)
        throw std::runtime_error(text);
    for (const auto& [key, value] : configs)
        check_raw_kafka(::rd_kafka_NewTopic_set_config(wanted.get(), key.c_str(), value.c_str()));
    const raw_kafka handle = administrator();
    // After a pause the controller counts its only broker as dead for a moment.
    const auto create = [&] {
        const raw_kafka_owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(handle.get()));
        rd_kafka_NewTopic_t* topics[] = {wanted.get()};
        ::rd_kafka_CreateTopics(handle.get(), topics, 1, nullptr, queue.get());
        const rd_kafka_resp_err_t code = take_answer(queue);
        if (code != RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR)
            check_raw_kafka(code);
        return code == RD_KAFKA_RESP_ERR_NO_ERROR;
    };
    if (!eventually(create))
        throw std::runtime_error("the topic " + name + " cannot be created:\n" + log());
    const raw_kafka_owned<rd_kafka_topic_t> topic(
        ::rd_kafka_topic_new(handle.get(), name.c_str(), nullptr)
    );
    const auto usable = [&] {
        const auto metadata = raw_kafka_metadata(handle, topic.get(), 1'000);
        if (!metadata || metadata->topic_cnt != 1 || !has_leaders(metadata->topics[0]))
            return false;
        for (std::int32_t i = 0; i < partitions; ++i) {
            if (!leads(handle, name, i))
                return false;
        }
        return true;
    };
    if (!eventually(usable))
        throw std::runtime_error("the topic " + name + " has no leader:\n" + log());
}

void kafka_broker::delete_topic(const std::string& name) {
    const raw_kafka handle = administrator();
    const raw_kafka_owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(handle.get()));
    const raw_kafka_owned<rd_kafka_DeleteTopic_t> wanted(::rd_kafka_DeleteTopic_new(name.c_str()));
    rd_kafka_DeleteTopic_t* topics[] = {wanted.get()};
    ::rd_kafka_DeleteTopics(handle.get(), topics, 1, nullptr, queue.get());
    check_raw_kafka(take_answer(queue));
    // The controller has deleted it by now; the broker hears of that in a moment.
    const raw_kafka_owned<rd_kafka_topic_t> topic(
        ::rd_kafka_topic_new(handle.get(), name.c_str(), nullptr)
    );
    const auto gone = [&] {
        const auto metadata = raw_kafka_metadata(handle, topic.get(), 1'000);
        return metadata && metadata->topic_cnt == 1 &&
               metadata->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    };
    if (!eventually(gone))
        throw std::runtime_error("the topic " + name + " is still there:\n" + log());
}

kafka_broker& shared_kafka() {
    static kafka_broker broker;
    return broker;
}

kafka_broker& killable_kafka() {
    static kafka_broker broker;
    if (!broker.runs())
        broker.start();
    broker.resume();
    return broker;
}

std::string fresh_name(const std::string& stem) {
    static std::atomic<int> count{0};
    return stem + "-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

}  // namespace mortise::test
