// SPDX-License-Identifier: BSL-1.0
#include "topic_guide.hpp"

#include "failure_classes.hpp"
#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <utility>

namespace mortise::kafka {
namespace {

using std::chrono::milliseconds;

// A topic that was created a moment ago is not known to every broker yet.
constexpr milliseconds creation_time{1'000};
constexpr milliseconds slice{250};

}  // namespace

topic_guide::topic_guide(rd_kafka_t* handle, milliseconds wait_max, std::function<bool()> go_on)
    : handle_(handle), wait_max_(wait_max), go_on_(std::move(go_on)) {}

int topic_guide::check(const std::string& topic, std::optional<std::int32_t> partition) {
    auto found = known_.find(topic);
    const bool new_here = found == known_.end();
    const auto fits = [&] { return !partition || *partition < found->second.partitions; };
    if (partition && *partition < 0)
        return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
    // It may have got more of them since.
    if (new_here || !fits()) {
        known_topic fresh;
        if (const int code = ask(topic, fresh); code != RD_KAFKA_RESP_ERR_NO_ERROR)
            return code;
        found = known_.insert_or_assign(topic, std::move(fresh)).first;
    }
    return fits() ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

int topic_guide::ask(const std::string& name, known_topic& into) {
    if (name.empty())
        return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
    into.topic.reset(::rd_kafka_topic_new(handle_, name.c_str(), nullptr));
    if (!into.topic)
        return ::rd_kafka_last_error();
    const clock::time_point begin = clock::now();
    for (;;) {
        const int code = ask_once(into, slice);
        const auto waited = clock::now() - begin;
        const bool missing = is_of_class(code, condition::unknown_topic);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR || !go_on_() ||
            waited >= (missing ? std::min(creation_time, wait_max_) : wait_max_) ||
            (!missing && !passes_by_itself(code)))
            return code;
        // Nobody is asked more often than this; what comes meanwhile is served.
        ::rd_kafka_poll(handle_, 20);
    }
}

int topic_guide::ask_once(known_topic& into, milliseconds wait) {
    const rd_kafka_metadata_t* came = nullptr;
    const int code =
        ::rd_kafka_metadata(handle_, 0, into.topic.get(), &came, static_cast<int>(wait.count()));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    const owned<const rd_kafka_metadata_t> said(came);
    if (said->topic_cnt != 1)
        return RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    const rd_kafka_metadata_topic_t& topic = said->topics[0];
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return topic.err;
    if (topic.partition_cnt == 0)
        return RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
    into.partitions = topic.partition_cnt;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace mortise::kafka
