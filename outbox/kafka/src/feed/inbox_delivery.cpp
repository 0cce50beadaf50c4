// SPDX-License-Identifier: BSL-1.0
// What comes of the turns of a member, and how it gets to the inbox.
#include "feed/inbox_consumer_core.hpp"
#include "feed/received_of.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/outbox/error.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::kafka::detail {

void inbox_consumer_core::digest(consumer_report came) {
    lost_ = lost_ || came.lost;
    for (consumer_failure& each : came.failures)
        tell(kind::failed, each.at, each.code, std::move(each.text));
    // What is taken back is not begun any more.
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
}

void inbox_consumer_core::digest_change(group_change what) {
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

// What the inbox has not got is read again from where that is.
void inbox_consumer_core::take_anew() {
    change made;
    made.what = change::kind::take_anew;
    for (auto& [which, each] : partitions_) {
        if (each.at != progress::state::reading)
            continue;
        each.at = progress::state::given;
        made.which.push_back(which);
    }
    if (made.which.empty())
        return;
    sweep();
    changes_.push_back(std::move(made));
}

void inbox_consumer_core::keep(consumed_record what) {
    const auto known = partitions_.find(what.from);
    if (known == partitions_.end() || known->second.at != progress::state::reading)
        return;
    known->second.read = what.offset + 1;
    waiting_bytes_ += (what.key ? what.key->size() : 0) + (what.value ? what.value->size() : 0);
    waiting_.push_back(received_of(known->second.source, config_.id_header, std::move(what)));
}

void inbox_consumer_core::taken(const start_offset& what) {
    progress& into = partitions_.at(what.of);
    into.read = into.delivered = what.wanted.value_or(-1);
    into.end = into.told = -1;
    into.at = what.read ? progress::state::reading : progress::state::refused;
    std::string text;
    if (what.fault && what.wanted)
        text = "the inbox wants offset " + std::to_string(*what.wanted) +
               ", and the partition has " + std::to_string(what.low) + " up to " +
               std::to_string(what.high);
    if (!what.read)
        return tell(kind::refused, what.of, what.fault, std::move(text));
    const kind came = what.fault ? kind::skipped : kind::assigned;
    tell(came, what.of, what.fault, std::move(text), what.begin);
}

// Nothing is delivered of a partition that is not read any more.
void inbox_consumer_core::sweep() {
    const auto is_gone = [this](const outbox::received& each) {
        const auto which = by_source_.find(each.source);
        return which == by_source_.end() ||
               partitions_.at(which->second).at != progress::state::reading;
    };
    std::erase_if(waiting_, is_gone);
    if (waiting_.empty())
        waiting_bytes_ = 0;
    if (!delivering_)
        std::erase_if(batch_, is_gone);
}

void inbox_consumer_core::forget_all() {
    member_.reset();
    partitions_.clear();
    by_source_.clear();
    changes_.clear();
    waiting_.clear();
    waiting_bytes_ = 0;
    batch_.clear();
    lost_ = false;
}

void inbox_consumer_core::deliver() {
    if (delivering_ || delayed_ || stopping_ || over_ || lost_ || change_waits())
        return;
    if (batch_.empty()) {
        batch_.swap(waiting_);
        waiting_bytes_ = 0;
    }
    if (batch_.empty())
        return;
    MORTISE_CRASH_POINT("consumer.received");
    delivering_ = true;
    auto then = [self = shared_from_this()](error_code wrong) { self->delivered(wrong); };
    inbox_->async_receive(batch_, asio::bind_executor(*strand_, std::move(then)));
}

void inbox_consumer_core::delivered(error_code wrong) {
    delivering_ = false;
    if (wrong) {
        inbox_failed(wrong);
        sweep();
    } else {
        MORTISE_CRASH_POINT("consumer.handled");
        for (const outbox::received& each : batch_) {
            progress& of = partitions_.at(by_source_.at(each.source));
            of.delivered = std::max(of.delivered, each.offset + 1);
        }
        batch_.clear();
        pauses_.reset();
        deliver();
    }
    call();
}

// An inbox that was stopped, or whose session is broken, will never take anything any more.
void inbox_consumer_core::inbox_failed(error_code code) {
    if (code != outbox::errc::stopped && code != mortise::errc::poisoned &&
        code != asio::error::operation_aborted)
        return failed(code, "the inbox");
    over_ = true;
    tell(kind::ended, {}, code, "the inbox takes no more: make another, and a consumer for it");
}

void inbox_consumer_core::failed(error_code code, const char* at_what) {
    if (stopping_ || lost_)
        return;
    tell(kind::failed, {}, code, at_what);
    delayed_ = true;
    retry_alarm_.set(*time_, *strand_, time_->now() + pauses_.next(), [this] {
        delayed_ = false;
        deliver();
        call();
    });
}

std::vector<group_offset> inbox_consumer_core::news() {
    std::vector<group_offset> all;
    for (auto& [which, each] : partitions_) {
        if (each.at == progress::state::refused)
            continue;
        if (auto one = each.news(which))
            all.push_back(std::move(*one));
    }
    return all;
}

void inbox_consumer_core::tell(
    kind what, const topic_partition& at, error_code code, std::string text, std::int64_t offset
) {
    if (!config_.observer)
        return;
    inbox_consumer_event made;
    made.what = what;
    made.at = at;
    made.offset = offset;
    made.code = code;
    made.text = std::move(text);
    config_.observer(made);
}

}  // namespace mortise::kafka::detail
