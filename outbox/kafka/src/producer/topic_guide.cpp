// SPDX-License-Identifier: BSL-1.0
#include "producer/topic_guide.hpp"

#include "failure_classes.hpp"
#include "handle.hpp"

#include <algorithm>
#include <utility>

namespace mortise::kafka::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds slice{250};
// The pause between two questions for a missing topic.
constexpr milliseconds pause_first{20};
constexpr milliseconds pause_max{500};
// After this time a topic that is written to is asked for again: it may have got partitions.
constexpr std::chrono::seconds known_max{60};

}  // namespace

topic_guide::topic_guide(
    const handle& by, milliseconds wait_max, milliseconds missing_max, std::function<bool()> go_on
)
    : by_(by), wait_max_(wait_max), missing_max_(missing_max), go_on_(std::move(go_on)) {}

int topic_guide::check(const std::string& topic, std::optional<std::int32_t> partition) {
    auto found = known_.find(topic);
    const bool new_here = found == known_.end();
    const auto fits = [&] { return !partition || *partition < found->second.partitions; };
    if (partition && *partition < 0)
        return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
    // Ask again for an unknown partition: the topic may have got more of them.
    if (new_here || !fits() || clock::now() - found->second.asked > known_max) {
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
    into.topic.reset(::rd_kafka_topic_new(by_.get(), name.c_str(), nullptr));
    if (!into.topic)
        return ::rd_kafka_last_error();
    const int code = ask_until_clear(into, !missing_.contains(name));
    into.asked = clock::now();
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        missing_.erase(name);
        note_partitions(name, into.partitions);
    } else if (is_of_class(code, condition::unknown_topic) && go_on_()) {
        missing_.insert(name);
    }
    return code;
}

int topic_guide::ask_until_clear(known_topic& into, bool wait_if_missing) {
    const clock::time_point begin = clock::now();
    milliseconds pause = pause_first;
    for (;;) {
        const int code = ask_once(into, slice);
        const auto waited = clock::now() - begin;
        const bool missing = is_of_class(code, condition::unknown_topic);
        const milliseconds missing_max = wait_if_missing ? missing_max_ : milliseconds(0);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR || !go_on_() ||
            waited >= (missing ? missing_max : wait_max_) || (!missing && !passes_by_itself(code)))
            return code;
        // Serve events during the pause.
        const clock::time_point next = clock::now() + pause;
        while (clock::now() < next && go_on_())
            ::rd_kafka_poll(by_.get(), static_cast<int>(pause_first.count()));
        pause = std::min(pause * 2, pause_max);
    }
}

void topic_guide::note_partitions(const std::string& name, int now) {
    const auto [known, fresh] = partitions_.try_emplace(name, now);
    if (!fresh && known->second < now)
        growths_.push_back({name, known->second, now});
    known->second = now;
}

std::vector<topic_guide::growth> topic_guide::take_growths() {
    return std::exchange(growths_, {});
}

int topic_guide::ask_once(known_topic& into, milliseconds wait) {
    const rd_kafka_metadata_t* raw = nullptr;
    const int code =
        ::rd_kafka_metadata(by_.get(), 0, into.topic.get(), &raw, static_cast<int>(wait.count()));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    const owned<const rd_kafka_metadata_t> metadata(raw);
    if (metadata->topic_cnt != 1)
        return RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    const rd_kafka_metadata_topic_t& topic = metadata->topics[0];
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return topic.err;
    if (topic.partition_cnt == 0)
        return RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
    into.partitions = topic.partition_cnt;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace mortise::kafka::detail
