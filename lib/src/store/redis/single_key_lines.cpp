// SPDX-License-Identifier: BSL-1.0
// Waiting in the single-key form: tries again when a release is heard, and when the holder's key
// has expired.
#include "store/redis/single_key_link.hpp"
#include "store/redis/single_key_values.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using std::chrono::milliseconds;

namespace {

// Spreads the attempts of sessions that wait for the same deadline.
constexpr unsigned jitter_us_max = 8'000;

// How long a former holder waits before it asks for a contended lock again, so that those who hear
// of the release come first.
constexpr milliseconds for_others(10);

}  // namespace

void single_key_link::heard(const std::string& channel) {
    const auto start = single_key_channel(prefix()).size();
    stir(channel.substr(start));
}

// Makes every line try now: without a subscription only the deadlines of holders are left to wait
// for, and an attempt learns them.
void single_key_link::listening_failed(const redis_failure& why) {
    remember(why);
    if (!wire())
        return;
    std::vector<std::string> names;
    for (const auto& [name, line] : lines_)
        names.push_back(name);
    for (const auto& name : names)
        stir(name);
    const auto weak = weak_from_this();
    listen_again_.set(*time(), strand(), now() + patience(), [this, weak] {
        if (const auto kept = weak.lock(); kept && wire())
            listener_->go();
    });
}

// Makes the line of `name` try, because its lock may be free.
void single_key_link::stir(const std::string& name) {
    const auto found = lines_.find(name);
    if (found == lines_.end() || !wire())
        return;  // A new connection stirs all lines.
    const line_ptr line = found->second;
    if (!line->trying && now() < line->not_before)
        return try_when(name, *line, line->not_before - now());
    line->again = true;
    if (std::exchange(line->trying, true))
        return;
    line->deadline.cancel();
    asio::co_spawn(strand(), run_line(shared_from_this(), name, line), asio::detached);
}

asio::awaitable<void> single_key_link::run_line(
    [[maybe_unused]] std::shared_ptr<redis_link> self, std::string name, line_ptr line
) {
    while (std::exchange(line->again, false) && !line->ids.empty() && wire()) {
        const request_id id = line->ids.front();
        entries_.at(id).maybe_set = true;
        auto taking = take_by_script(name, id);
        const auto got = co_await std::move(taking);
        if (!line->ids.empty() && line->ids.front() == id)
            take_turn(name, *line, id, got);
        else
            line->again = true;  // Withdrawn meanwhile: single_key_free is sent behind the attempt.
    }
    line->trying = false;
    disband_if_empty(name, line);
}

void single_key_link::take_turn(
    const std::string& name, single_key_line& line, request_id id, const result<attempt>& got
) {
    if (!got) {
        // An attempt without an answer is repeated on the next connection, one that was refused
        // after a while.
        try_when(name, line, patience());
    } else if (got->taken) {
        line.ids.pop_front();
        line.again = true;
        entries_.granted(id, got->token, now());
        store_event event;
        event.type = store_event::kind::granted;
        event.id = id;
        event.token = got->token;
        tell_now(event);
    } else {
        entries_.at(id).maybe_set = false;
        const auto wait =
            got->free_in_ms < 0
                ? clock::duration(session().ttl / 3)
                : clock::duration(milliseconds(1)) +
                      milliseconds(std::min<std::int64_t>(got->free_in_ms, std::int64_t{1} << 40));
        std::uniform_int_distribution<unsigned> jitter(0, jitter_us_max);
        try_when(name, line, wait + std::chrono::microseconds(jitter(jitter_)));
    }
}

void single_key_link::try_when(
    const std::string& name, single_key_line& line, clock::duration after
) {
    const auto weak = weak_from_this();
    line.deadline.set(*time(), strand(), coro::saturating_add(now(), after), [this, weak, name] {
        if (const auto kept = weak.lock())
            stir(name);
    });
}

// Holds back this session's next request for a contended lock: it would always be faster than the
// sessions that must first be told of the release.
void single_key_link::give_way(const std::string& name) {
    std::erase_if(gave_way_, [at = now()](const auto& each) { return each.second <= at; });
    gave_way_[name] = now() + for_others;
}

clock::time_point single_key_link::gave_way_until(const std::string& name) const {
    const auto found = gave_way_.find(name);
    return found == gave_way_.end() ? clock::time_point() : found->second;
}

void single_key_link::leave_line(request_id id, const std::string& name) {
    const auto found = lines_.find(name);
    if (found == lines_.end())
        return;
    const line_ptr line = found->second;
    const bool first = !line->ids.empty() && line->ids.front() == id;
    std::erase(line->ids, id);
    disband_if_empty(name, line);
    if (first && !line->ids.empty())
        stir(name);
}

void single_key_link::disband_if_empty(const std::string& name, const line_ptr& line) {
    const auto found = lines_.find(name);
    if (line->trying || !line->ids.empty() || found == lines_.end() || found->second != line)
        return;
    lines_.erase(found);
    listener_->forget(single_key_channel(key_of(name)));
}

void single_key_link::disband_all() {
    for (const auto& [name, line] : lines_) {
        line->ids.clear();
        line->deadline.cancel();
        listener_->forget(single_key_channel(key_of(name)));
    }
    lines_.clear();
}

}  // namespace mortise::store_detail
