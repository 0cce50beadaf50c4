// SPDX-License-Identifier: BSL-1.0
#include "processor/made_batch.hpp"

#include "failure_classes.hpp"

#include <utility>

namespace mortise::kafka::detail {
namespace {

// Copies the record for the dead-letter topic, and adds headers with its position and the reason.
record dead_letter_of(const std::string& topic, const consumed_record& source, std::string why) {
    record letter(topic, source.key, source.value);
    letter.headers = source.headers;
    letter.headers.emplace_back("mortise-dead-topic", source.from.topic);
    letter.headers.emplace_back("mortise-dead-partition", std::to_string(source.from.partition));
    letter.headers.emplace_back("mortise-dead-offset", std::to_string(source.offset));
    letter.headers.emplace_back("mortise-dead-reason", std::move(why));
    if (source.timestamp >= 0)
        letter.timestamp = source.timestamp;
    return letter;
}

}  // namespace

bool made_batch::stopped_before(const consumed_record& source) const {
    const auto stop = stops_.find(source.from);
    return stop != stops_.end() && stop->second.of->offset <= source.offset;
}

void made_batch::add(const consumed_record& source, std::vector<record> products) {
    entry& one = entries_.emplace_back();
    one.of = &source;
    one.products = std::move(products);
}

void made_batch::give_up(const consumed_record& source, error_code code, std::string why) {
    add(source, {});
    give_up(entries_.back(), code, std::move(why));
    drop_what_is_behind_stops();
}

// Gives a record up: it becomes a dead letter, or stops its partition if it is one already.
void made_batch::give_up(entry& item, error_code code, std::string why) {
    failure reason;
    reason.of = item.of;
    reason.code = code;
    reason.why = std::move(why);
    if (dead_letter_topic_.empty() || item.dead) {
        const auto [stop, fresh] = stops_.try_emplace(item.of->from, reason);
        if (!fresh && reason.of->offset < stop->second.of->offset)
            stop->second = std::move(reason);
        return;
    }
    item.dead = true;
    item.products.clear();
    item.products.push_back(dead_letter_of(dead_letter_topic_, *item.of, reason.why));
    item.why = std::move(reason);
}

void made_batch::drop_what_is_behind_stops() {
    std::erase_if(entries_, [this](const entry& each) { return stopped_before(*each.of); });
}

bool made_batch::refuse(const std::vector<refused_record>& rejections) {
    std::map<std::size_t, const refused_record*> refused;
    for (const refused_record& each : rejections) {
        if (!blames_topic(each.code.value()))
            refused.emplace(each.index, &each);
    }
    bool changed = false;
    std::size_t begin = 0;
    for (entry& each : entries_) {
        const std::size_t end = begin + each.products.size();
        const auto first = refused.lower_bound(begin);
        if (first != refused.end() && first->first < end) {
            give_up(each, first->second->code, "Kafka does not take it: " + first->second->text);
            changed = true;
        }
        begin = end;
    }
    drop_what_is_behind_stops();
    return changed;
}

std::vector<record> made_batch::records() const {
    std::vector<record> all;
    for (const entry& each : entries_)
        all.insert(all.end(), each.products.begin(), each.products.end());
    return all;
}

std::map<topic_partition, std::int64_t> made_batch::dealt_with() const {
    std::map<topic_partition, std::int64_t> last;
    for (const entry& each : entries_)
        last[each.of->from] = each.of->offset;
    return last;
}

std::vector<made_batch::failure> made_batch::dead_letters() const {
    std::vector<failure> all;
    for (const entry& each : entries_) {
        if (each.dead)
            all.push_back(each.why);
    }
    return all;
}

}  // namespace mortise::kafka::detail
