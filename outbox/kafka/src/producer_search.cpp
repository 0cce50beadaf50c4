// SPDX-License-Identifier: BSL-1.0
// Finds the guilty records of a batch when Kafka does not name them.
#include "batch_records.hpp"
#include "producer_core.hpp"
#include "record_size.hpp"

#include <algorithm>
#include <utility>

namespace mortise::kafka {

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
        book_.open(1);
        last_failure_ = begin();
        const bool went_out =
            !last_failure_.failed() && produce(*samples.at(topic), 0) && !book_.failed() && flush();
        if (!went_out && blames_topic(last_failure_.answer.code))
            refused.emplace(topic, last_failure_.answer.code);
        const transaction_outcome ended = abort(last_failure_);
        if (ended.type == transaction_outcome::kind::lost) {
            outcome = ended;
            break;
        }
    }
    refuse_topics(batch, refused, outcome);
}

// Tries the new topics of a batch. @return whether the batch itself can be tried.
bool producer_core::try_new_topics(const transaction_batch& batch, transaction_outcome& outcome) {
    topics fresh = topics_of(batch);
    std::erase_if(fresh, [this](const std::string& topic) { return writable_.contains(topic); });
    outcome.type = transaction_outcome::kind::committed;
    if (fresh.size() > 1) {
        book_.open(index_end(batch));
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
    topics fresh = topics_of(batch);
    std::erase_if(fresh, [this](const std::string& topic) { return writable_.contains(topic); });
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
    book_.open(index_end(batch));
    for_each_record(batch, [&](const record& record, std::size_t index) {
        if (const auto found = refused.find(record.topic); found != refused.end())
            book_.on_proof(index, found->second);
    });
    name_guilty(outcome);
    outcome.renew = state_ == state::lost;
}

// Searches by halves. A broker refuses records that came together as a whole, so each try separates
// the records that the last try had refused together.
transaction_outcome
producer_core::search(const transaction_batch& batch, transaction_outcome outcome) {
    constexpr int tries_max = 24;
    using kind = transaction_outcome::kind;
    for (int tries = 1; tries <= tries_max; ++tries) {
        narrow(batch, tries == tries_max);
        outcome = attempt_in_sequence(batch);
        if (outcome.type != kind::again || book_.suspects().empty())
            break;
    }
    // No record was guilty: these topics take less than what was sent together.
    if (outcome.type == kind::committed) {
        for (const auto& [topic, size] : too_much_)
            together_max_[topic] = size / 2;
    }
    too_much_.clear();
    pauses_.clear();
    alone_.clear();
    return outcome;
}

void producer_core::narrow(const transaction_batch& batch, bool last_try) {
    // Below this size, a single record is probably too large, not the sum of them.
    constexpr std::size_t smallest_limit = 16u << 10;
    for (const delivery_book::group& group : book_.suspects()) {
        std::size_t size = 0;
        for (const std::size_t index : group.indexes)
            size += index < batch.records.size() ? size_of(batch.records[index]) : 0;
        if (group.too_large) {
            const auto [known, fresh] = too_much_.emplace(group.topic, size);
            known->second = std::min(known->second, size);
            if (size > smallest_limit)
                together_max_[group.topic] = std::max(size / 2, smallest_limit);
        }
        pauses_.insert(group.indexes.front());
        pauses_.insert(group.indexes[group.indexes.size() / 2]);
        pauses_.insert(group.indexes.back() + 1);
        if (last_try)
            alone_.insert(group.topic);
    }
}

}  // namespace mortise::kafka
