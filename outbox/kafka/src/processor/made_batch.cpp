// SPDX-License-Identifier: BSL-1.0
#include "processor/made_batch.hpp"

#include "failure_classes.hpp"
#include "processor/dead_letter.hpp"

#include <utility>

namespace mortise::kafka {

bool made_batch::stopped_before(const consumed_record& what) const {
    const auto stop = stops_.find(what.from);
    return stop != stops_.end() && stop->second.of->offset <= what.offset;
}

void made_batch::add(const consumed_record& what, std::vector<record> made) {
    entry& one = entries_.emplace_back();
    one.of = &what;
    one.made = std::move(made);
}

void made_batch::give_up(const consumed_record& what, error_code code, std::string why) {
    add(what, {});
    give_up(entries_.back(), code, std::move(why));
    drop_what_is_behind_stops();
}

// Gives a record up: it becomes a dead letter, or stops its partition if it is one already.
void made_batch::give_up(entry& what, error_code code, std::string why) {
    failure reason;
    reason.of = what.of;
    reason.code = code;
    reason.why = std::move(why);
    if (dead_letter_topic_.empty() || what.dead) {
        const auto [stop, fresh] = stops_.try_emplace(what.of->from, reason);
        if (!fresh && reason.of->offset < stop->second.of->offset)
            stop->second = std::move(reason);
        return;
    }
    what.dead = true;
    what.made.clear();
    what.made.push_back(dead_letter_of(dead_letter_topic_, *what.of, reason.why));
    what.why = std::move(reason);
}

void made_batch::drop_what_is_behind_stops() {
    std::erase_if(entries_, [this](const entry& each) { return stopped_before(*each.of); });
}

bool made_batch::refuse(const std::vector<refused_record>& which) {
    std::map<std::size_t, const refused_record*> refused;
    for (const refused_record& each : which) {
        if (!blames_topic(each.code.value()))
            refused.emplace(each.index, &each);
    }
    bool changed = false;
    std::size_t begin = 0;
    for (entry& each : entries_) {
        const std::size_t end = begin + each.made.size();
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
        all.insert(all.end(), each.made.begin(), each.made.end());
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

}  // namespace mortise::kafka
