// SPDX-License-Identifier: BSL-1.0
#include "store/redis/single_key_lines.hpp"

#include "store/redis/single_key_values.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace mortise::store_detail {

using std::chrono::milliseconds;

namespace {

// Spreads the attempts of sessions that wait for the same deadline.
constexpr unsigned jitter_us_max = 8'000;

// How long a former holder waits before it asks for a contended lock again, so that those who hear
// of the release come first.
constexpr milliseconds for_others(10);

}  // namespace

single_key_lines::single_key_lines(line_session& session, std::string prefix)
    : session_(session),
      prefix_(std::move(prefix)),
      jitter_(static_cast<std::minstd_rand::result_type>(random_id::draw().low)) {}

void single_key_lines::attach(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    redis_wire_factory wires,
    std::weak_ptr<void> owner
) {
    strand_ = std::move(strand);
    time_ = std::move(time);
    owner_ = std::move(owner);
    listener_ = std::make_shared<single_key_listener>(
        strand_,
        time_,
        std::move(wires),
        [this, owner = owner_](const std::string& channel) {
            if (const auto kept = owner.lock())
                heard(channel);
        },
        [this, owner = owner_](const redis_failure& why) {
            if (const auto kept = owner.lock())
                listening_failed(why);
        }
    );
}

void single_key_lines::pause() noexcept {
    listen_again_.cancel();
    if (listener_)
        listener_->close();
    for (const auto& [name, line] : lines_)
        line->deadline.cancel();
}

std::string single_key_lines::channel_of(const std::string& name) const {
    return single_key_channel(prefix_ + name);
}

bool single_key_lines::hears(const std::string& name) const {
    return listener_->hears(channel_of(name));
}

void single_key_lines::heard(const std::string& channel) {
    const auto start = single_key_channel(prefix_).size();
    stir(channel.substr(start));
}

// Makes every line try now: without a subscription only the deadlines of holders are left to wait
// for, and an attempt learns them.
void single_key_lines::listening_failed(const redis_failure& why) {
    session_.deaf(why);
    if (!session_.connected())
        return;
    std::vector<std::string> names;
    for (const auto& [name, line] : lines_)
        names.push_back(name);
    for (const auto& name : names)
        stir(name);
    const auto due = now() + session_.answer_max();
    listen_again_.set(*time_, strand_, due, [this, owner = owner_] {
        if (const auto kept = owner.lock(); kept && session_.connected())
            listener_->go();
    });
}

std::size_t single_key_lines::join(request_id id, const std::string& name) {
    auto& joined = lines_[name];
    if (!joined) {
        joined = std::make_shared<waiting_line>();
        listener_->want(channel_of(name));
    }
    joined->ids.push_back(id);
    return joined->ids.size();
}

void single_key_lines::hold_back(const std::string& name, clock::time_point until) {
    lines_.at(name)->not_before = until;
}

// Makes the line of `name` try, because its lock may be free.
void single_key_lines::stir(const std::string& name) {
    const auto found = lines_.find(name);
    if (found == lines_.end() || !session_.connected())
        return;  // A new connection stirs all lines.
    const line_ptr line = found->second;
    if (!line->trying && now() < line->not_before)
        return try_when(name, *line, line->not_before - now());
    line->again = true;
    if (std::exchange(line->trying, true))
        return;
    line->deadline.cancel();
    asio::co_spawn(strand_, run(owner_.lock(), name, line), asio::detached);
}

asio::awaitable<void> single_key_lines::run(
    [[maybe_unused]] std::shared_ptr<void> owner, std::string name, line_ptr line
) {
    while (std::exchange(line->again, false) && !line->ids.empty() && session_.connected()) {
        const request_id id = line->ids.front();
        auto trying = session_.try_take(name, id);
        const auto outcome = co_await std::move(trying);
        if (!line->ids.empty() && line->ids.front() == id)
            take_turn(name, *line, id, outcome);
        else
            line->again = true;  // Withdrawn meanwhile: single_key_free is sent behind the attempt.
    }
    line->trying = false;
    disband_if_empty(name, line);
}

void single_key_lines::take_turn(
    const std::string& name,
    waiting_line& line,
    request_id id,
    const result<single_key_attempt>& outcome
) {
    if (!outcome) {
        // An attempt without an answer is repeated on the next connection, one that was refused
        // after a while.
        try_when(name, line, session_.answer_max());
    } else if (outcome->taken) {
        line.ids.pop_front();
        line.again = true;
        session_.tried(id, *outcome);
    } else {
        session_.tried(id, *outcome);
        const auto free_in = outcome->free_in_ms;
        const auto wait =
            free_in < 0 ? clock::duration(session_.ttl() / 3)
                        : clock::duration(milliseconds(1)) +
                              milliseconds(std::min<std::int64_t>(free_in, std::int64_t{1} << 40));
        std::uniform_int_distribution<unsigned> jitter(0, jitter_us_max);
        try_when(name, line, wait + std::chrono::microseconds(jitter(jitter_)));
    }
}

void single_key_lines::try_when(
    const std::string& name, waiting_line& line, clock::duration after
) {
    const auto due = coro::saturating_add(now(), after);
    line.deadline.set(*time_, strand_, due, [this, owner = owner_, name] {
        if (const auto kept = owner.lock())
            stir(name);
    });
}

void single_key_lines::give_way(const std::string& name) {
    std::erase_if(gave_way_, [at = now()](const auto& each) { return each.second <= at; });
    gave_way_[name] = now() + for_others;
}

clock::time_point single_key_lines::gave_way_until(const std::string& name) const {
    const auto found = gave_way_.find(name);
    return found == gave_way_.end() ? clock::time_point() : found->second;
}

void single_key_lines::leave(request_id id, const std::string& name) {
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

void single_key_lines::disband_if_empty(const std::string& name, const line_ptr& line) {
    const auto found = lines_.find(name);
    if (line->trying || !line->ids.empty() || found == lines_.end() || found->second != line)
        return;
    lines_.erase(found);
    listener_->forget(channel_of(name));
}

void single_key_lines::disband() {
    for (const auto& [name, line] : lines_) {
        line->ids.clear();
        line->deadline.cancel();
        listener_->forget(channel_of(name));
    }
    lines_.clear();
}

void single_key_lines::begin_session() {
    disband();
    gave_way_.clear();
}

}  // namespace mortise::store_detail
