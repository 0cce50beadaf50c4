// SPDX-License-Identifier: BSL-1.0
#include "store/link/answer_watch.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using std::chrono::milliseconds;

void answer_watch::attach(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    std::weak_ptr<void> owner,
    std::function<void()> silent,
    std::function<void()> quiet
) {
    strand_ = std::move(strand);
    time_ = std::move(time);
    owner_ = std::move(owner);
    silent_ = std::move(silent);
    quiet_ = std::move(quiet);
}

clock::duration answer_watch::patience() const noexcept {
    return std::clamp<clock::duration>(ttl_ / 3, milliseconds(100), milliseconds(2'000));
}

void answer_watch::sent() {
    under_way_.push_back(now());
    watch_answers();
}

void answer_watch::answered() {
    if (under_way_.empty())
        return;
    under_way_.pop_front();
    answered_ = now();
}

void answer_watch::clear() noexcept {
    under_way_.clear();
    answers_alarm_.cancel();
    quiet_alarm_.cancel();
}

// The time since which the server is silent. Many commands at once may take longer than one: while
// answers come, the server is busy, not silent.
clock::time_point answer_watch::silent_since() const {
    return std::max(under_way_.front(), answered_);
}

// Sets one timer, for the oldest command without an answer.
void answer_watch::watch_answers() {
    if (answers_alarm_.is_set() || under_way_.empty())
        return;
    const auto due = silent_since() + patience();
    answers_alarm_.set(*time_, strand_, due, [this, owner = owner_, due] {
        if (const auto kept = owner.lock())
            judge(due);
    });
}

void answer_watch::judge(clock::time_point due) {
    if (under_way_.empty())
        return;
    const auto limit = patience();
    if (now() - due > limit / 2) {
        // This process was not running: it must first read what has come meanwhile.
        under_way_.front() = now() - limit / 2;
    } else if (silent_since() + limit <= now()) {
        silent_();
        return;
    }
    watch_answers();
}

void answer_watch::watch_quiet() {
    if (ttl_ / 3 <= quiet_max)
        return;  // Heartbeats come often enough.
    quiet_alarm_.set(*time_, strand_, now() + quiet_max, [this, owner = owner_] {
        const auto kept = owner.lock();
        if (!kept)
            return;
        if (under_way_.empty() && now() - answered_ >= quiet_max)
            quiet_();
        watch_quiet();
    });
}

}  // namespace mortise::store_detail
