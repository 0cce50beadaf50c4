// SPDX-License-Identifier: BSL-1.0
// Finds the guilty records of a batch when Kafka does not name them.
#include "producer/batch_records.hpp"
#include "producer/producer_core.hpp"

#include <utility>

namespace mortise::kafka::detail {

producer_core::topics producer_core::topics_of(const transaction_batch& batch) {
    topics all;
    const record* before = nullptr;
    for_each_record(batch, [&](const record& each, std::size_t) {
        if (!before || before->topic != each.topic)
            all.insert(each.topic);
        before = &each;
    });
    return all;
}

// Tries a record to each topic, in transactions that are never committed. Kafka says that one of
// the topics cannot be written to, but not which one.
void producer_core::try_topics(
    const transaction_batch& batch, const topics& names, transaction_outcome& outcome
) {
    std::map<std::string, const record*> samples;
    for_each_record(batch, [&](const record& each, std::size_t) {
        samples.emplace(each.topic, &each);
    });
    std::map<std::string, int> refused;
    for (const std::string& topic : names) {
        const failure why = calls_.try_alone(*samples.at(topic));
        if (blames_topic(why.answer.code))
            refused.emplace(topic, why.answer.code);
        const transaction_outcome ended = abort(why);
        if (ended.type == transaction_outcome::kind::lost) {
            outcome = ended;
            break;
        }
    }
    refuse_topics(batch, refused, outcome);
}

producer_core::topics producer_core::new_topics_of(const transaction_batch& batch) const {
    topics fresh = topics_of(batch);
    std::erase_if(fresh, [this](const std::string& topic) { return writable_.contains(topic); });
    return fresh;
}

// Tries the new topics of a batch. @return whether the batch itself can be tried.
bool producer_core::try_new_topics(const transaction_batch& batch, transaction_outcome& outcome) {
    const topics fresh = new_topics_of(batch);
    outcome.type = transaction_outcome::kind::committed;
    if (fresh.size() > 1) {
        calls_.book().open(index_end(batch));
        if (!check_topics(batch, outcome))
            return false;
        try_topics(batch, fresh, outcome);
    }
    return outcome.type == transaction_outcome::kind::committed;
}

// Names the guilty topic if only one was new. If the first request of a transaction fails, there is
// nothing to abort; librdkafka 2.0 treats Kafka's answer to that as fatal, and the producer is
// lost. With several new topics, a wary producer finds the guilty one.
void producer_core::blame_only_new_topic(
    const transaction_batch& batch, transaction_outcome& outcome
) {
    const topics fresh = new_topics_of(batch);
    if (fresh.size() == 1)
        refuse_topics(batch, {{*fresh.begin(), outcome.code.value()}}, outcome);
}

void producer_core::refuse_topics(
    const transaction_batch& batch,
    const std::map<std::string, int>& refused,
    transaction_outcome& outcome
) {
    if (refused.empty())
        return;
    calls_.book().open(index_end(batch));
    for_each_record(batch, [&](const record& record, std::size_t index) {
        if (const auto found = refused.find(record.topic); found != refused.end())
            calls_.book().on_proof(index, found->second);
    });
    name_guilty(outcome);
    outcome.renew = state_ == state::lost;
}

// Searches by halves: each try separates the records that the last one had refused together.
transaction_outcome
producer_core::search(const transaction_batch& batch, transaction_outcome outcome) {
    constexpr int tries_max = 24;
    using kind = transaction_outcome::kind;
    for (int tries = 1; tries <= tries_max; ++tries) {
        pacing_.narrow(batch, calls_.book().suspects(), tries == tries_max);
        outcome = attempt_in_sequence(batch);
        if (outcome.type != kind::again || calls_.book().suspects().empty())
            break;
    }
    pacing_.end_search(outcome.type == kind::committed);
    return outcome;
}

}  // namespace mortise::kafka::detail
