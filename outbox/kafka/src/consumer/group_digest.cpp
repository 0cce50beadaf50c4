// SPDX-License-Identifier: BSL-1.0
// Handles the results of a member's turns, and of the work.
#include "consumer/group_consumer.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::kafka::detail {

void group_consumer::digest(consumer_report came) {
    lost_ = lost_ || came.lost;
    for (consumer_failure& each : came.failures)
        tell(kind::failed, each.at, each.code, std::move(each.text));
    // Apply changes before records: work on a revoked partition must not begin.
    for (group_change& each : came.changes)
        digest_change(std::move(each));
    for (consumed_record& each : came.records)
        keep(std::move(each));
    for (const auto& [which, end] : came.ends) {
        if (const auto known = partitions_.find(which); known != partitions_.end())
            known->second.end = end;
    }
    if (!came.unsure.empty())
        take_anew();
    stir_->set();
}

void group_consumer::digest_change(group_change what) {
    for (const topic_partition& each : what.which) {
        if (what.given)
            partitions_[each] = progress();
        else if (const auto known = partitions_.find(each); known != partitions_.end())
            known->second.at = progress::state::leaving;
    }
    if (!what.given)
        sweep();
    change made;
    made.what = what.given ? change::kind::take : change::kind::release;
    made.which = std::move(what.which);
    changes_.push_back(std::move(made));
}

// Makes the member read again what was not handled.
void group_consumer::take_anew() {
    change made;
    made.what = change::kind::take_anew;
    let_go_of_all(made);
    if (!made.which.empty())
        changes_.push_back(std::move(made));
}

// Turns partitions that are read into given ones, for the change to take them again.
void group_consumer::let_go_of_all(change& into) {
    for (auto& [which, each] : partitions_) {
        if (each.at != progress::state::reading)
            continue;
        each.at = progress::state::given;
        into.which.push_back(which);
    }
    sweep();
}

void group_consumer::keep(consumed_record what) {
    if (!is_read(what.from))
        return;
    partitions_.at(what.from).read = what.offset + 1;
    waiting_bytes_ += (what.key ? what.key->size() : 0) + (what.value ? what.value->size() : 0);
    waiting_.push_back(std::move(what));
}

void group_consumer::taken(const start_offset& what) {
    progress& into = partitions_.at(what.of);
    into.read = into.done = what.wanted.value_or(-1);
    into.end = into.told = into.claimed = -1;
    if (what.claim && !what.wanted)
        into.claimed = what.begin == RD_KAFKA_OFFSET_END ? what.high : what.low;
    if (what.claim && what.read)
        tell_at_ = {};  // Tell the group before any record of it is handled.
    into.at = what.read ? progress::state::reading : progress::state::refused;
    std::string text = what.text;
    if (text.empty() && what.fault && what.wanted)
        text = "offset " + std::to_string(*what.wanted) + " comes next, and the partition has " +
               std::to_string(what.low) + " up to " + std::to_string(what.high);
    if (!what.read)
        return tell(kind::refused, what.of, what.fault, std::move(text));
    const kind came = what.fault ? kind::skipped : kind::assigned;
    tell(came, what.of, what.fault, std::move(text), what.begin);
}

bool group_consumer::is_read(const topic_partition& which) const {
    const auto known = partitions_.find(which);
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
    if (working_ || delayed_ || over_ || lost_ || hurry())
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
    retry_alarm_.set(*time_, seat_.strand(), time_->now() + pauses_.next(), [this] {
        delayed_ = false;
        begin_work();
        call();
    });
}

void group_consumer::refuse(const topic_partition& which, error_code code, std::string text) {
    if (!is_read(which))
        return;
    partitions_.at(which).at = progress::state::refused;
    tell(kind::refused, which, code, std::move(text));
}

std::int64_t
group_consumer::next_after(const topic_partition& which, std::int64_t dealt_with) const {
    const auto known = partitions_.find(which);
    return known == partitions_.end() ? dealt_with : known->second.next_after(dealt_with);
}

std::vector<group_offset> group_consumer::news() {
    std::vector<group_offset> all;
    if (tell_after_ <= std::chrono::milliseconds(0))
        return all;
    for (auto& [which, each] : partitions_) {
        if (each.at == progress::state::refused)
            continue;
        if (auto one = each.news(which, owner_))
            all.push_back(std::move(*one));
    }
    return all;
}

void group_consumer::tell(
    kind what, const topic_partition& at, error_code code, std::string text, std::int64_t offset
) {
    if (!config_.observer)
        return;
    consumer_event made;
    made.what = what;
    made.at = at;
    made.offset = offset;
    made.code = code;
    made.text = std::move(text);
    config_.observer(made);
}

}  // namespace mortise::kafka::detail
