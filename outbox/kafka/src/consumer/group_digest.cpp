// SPDX-License-Identifier: BSL-1.0
// Handles the results of a member's turns, and of the work.
#include "consumer/group_consumer.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::kafka::detail {

void group_consumer::digest(consumer_report report) {
    lost_ = lost_ || report.lost;
    for (consumer_failure& each : report.failures)
        tell(kind::failed, each.at, each.code, std::move(each.text));
    // Apply changes before records: work on a revoked partition must not begin.
    for (group_change& each : report.changes)
        digest_change(std::move(each));
    for (consumed_record& each : report.records)
        keep(std::move(each));
    for (const auto& [partition, end] : report.ends) {
        if (const auto known = partitions_.find(partition); known != partitions_.end())
            known->second.end = end;
    }
    if (!report.unsure.empty())
        take_anew();
    stir_->set();
}

void group_consumer::digest_change(group_change assignment) {
    for (const topic_partition& each : assignment.partitions) {
        if (assignment.given)
            partitions_[each] = progress();
        else if (const auto known = partitions_.find(each); known != partitions_.end())
            known->second.at = progress::state::leaving;
    }
    if (!assignment.given)
        sweep();
    change entry;
    entry.type = assignment.given ? change::kind::take : change::kind::release;
    entry.partitions = std::move(assignment.partitions);
    changes_.push_back(std::move(entry));
}

// Makes the member read again what was not handled.
void group_consumer::take_anew() {
    change entry;
    entry.type = change::kind::take_anew;
    let_go_of_all(entry);
    if (!entry.partitions.empty())
        changes_.push_back(std::move(entry));
}

// Turns partitions that are read into given ones, for the change to take them again.
void group_consumer::let_go_of_all(change& into) {
    for (auto& [partition, each] : partitions_) {
        if (each.at != progress::state::reading)
            continue;
        each.at = progress::state::given;
        into.partitions.push_back(partition);
    }
    sweep();
}

void group_consumer::keep(consumed_record record) {
    if (!is_read(record.from))
        return;
    partitions_.at(record.from).read = record.offset + 1;
    waiting_bytes_ +=
        (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
    waiting_.push_back(std::move(record));
}

void group_consumer::taken(const start_offset& start) {
    progress& into = partitions_.at(start.of);
    into.read = into.done = start.wanted.value_or(-1);
    into.end = into.reported = into.first = -1;
    if (start.announce && !start.wanted)
        into.first = start.begin == RD_KAFKA_OFFSET_END ? start.high : start.low;
    into.is_announced = !start.announce;
    into.at = start.read ? progress::state::reading : progress::state::refused;
    std::string text = start.text;
    if (text.empty() && start.fault && start.wanted)
        text = "offset " + std::to_string(*start.wanted) + " comes next, and the partition has " +
               std::to_string(start.low) + " up to " + std::to_string(start.high);
    if (!start.read)
        return tell(kind::refused, start.of, start.fault, std::move(text));
    const kind type = start.fault ? kind::skipped : kind::assigned;
    tell(type, start.of, start.fault, std::move(text), start.begin);
}

std::vector<topic_partition> group_consumer::unannounced() const {
    std::vector<topic_partition> found;
    for (const auto& [partition, each] : partitions_) {
        if (each.at == progress::state::reading && !each.is_announced)
            found.push_back(partition);
    }
    return found;
}

bool group_consumer::is_read(const topic_partition& partition) const {
    const auto known = partitions_.find(partition);
    return known != partitions_.end() && known->second.at == progress::state::reading;
}

// Drops waiting records of partitions that are no longer read.
void group_consumer::sweep() {
    const auto is_gone = [this](const consumed_record& each) { return !is_read(each.from); };
    std::erase_if(waiting_, is_gone);
    if (waiting_.empty())
        waiting_bytes_ = 0;
    if (!working_)
        std::erase_if(batch_, is_gone);
}

void group_consumer::forget_all() {
    member_.reset();
    partitions_.clear();
    changes_.clear();
    waiting_.clear();
    waiting_bytes_ = 0;
    batch_.clear();
    lost_ = false;
}

void group_consumer::begin_work() {
    if (working_ || delayed_ || over_ || lost_ || hurry() || !unannounced().empty())
        return;
    if (batch_.empty()) {
        batch_.swap(waiting_);
        waiting_bytes_ = 0;
    }
    if (batch_.empty())
        return;
    MORTISE_CRASH_POINT("consumer.received");
    working_ = true;
    work(batch_);
}

void group_consumer::worked() {
    MORTISE_CRASH_POINT("consumer.handled");
    for (const consumed_record& each : batch_) {
        if (const auto known = partitions_.find(each.from); known != partitions_.end())
            known->second.done = std::max(known->second.done, each.offset + 1);
    }
    batch_.clear();
    pauses_.reset();
    work_dropped();
}

void group_consumer::work_dropped() {
    working_ = false;
    sweep();
    begin_work();
    call();
}

void group_consumer::work_failed(error_code code, const char* at_what, const std::string& why) {
    working_ = false;
    sweep();
    failed(code, at_what, why);
    call();
}

void group_consumer::work_lost(error_code code, const char* at_what) {
    working_ = false;
    take_anew();
    batch_.clear();
    failed(code, at_what);
    call();
}

void group_consumer::failed(error_code code, const char* at_what, const std::string& why) {
    if (stopping_ || lost_)
        return;
    const std::string text = why.empty() ? at_what : std::string(at_what) + ": " + why;
    if (is_final(code)) {
        over_ = true;
        return tell(kind::ended, {}, code, text);
    }
    tell(kind::failed, {}, code, text);
    delayed_ = true;
    retry_alarm_.set(*time_, strand(), time_->now() + pauses_.next(), [this] {
        delayed_ = false;
        begin_work();
        call();
    });
}

void group_consumer::refuse(const topic_partition& partition, error_code code, std::string text) {
    if (!is_read(partition))
        return;
    partitions_.at(partition).at = progress::state::refused;
    tell(kind::refused, partition, code, std::move(text));
}

std::int64_t
group_consumer::next_after(const topic_partition& partition, std::int64_t dealt_with) const {
    const auto known = partitions_.find(partition);
    return known == partitions_.end() ? dealt_with : known->second.next_after(dealt_with);
}

std::vector<group_offset> group_consumer::news() {
    std::vector<group_offset> all;
    if (tell_after_ <= std::chrono::milliseconds(0))
        return all;
    for (auto& [partition, each] : partitions_) {
        if (each.at == progress::state::refused || !each.is_announced)
            continue;
        if (auto one = each.news(partition, owner_))
            all.push_back(std::move(*one));
    }
    return all;
}

void group_consumer::tell(
    kind type, const topic_partition& at, error_code code, std::string text, std::int64_t offset
) {
    if (!config_.observer)
        return;
    consumer_event event;
    event.type = type;
    event.at = at;
    event.offset = offset;
    event.code = code;
    event.text = std::move(text);
    config_.observer(event);
}

}  // namespace mortise::kafka::detail
