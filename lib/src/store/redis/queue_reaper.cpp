// SPDX-License-Identifier: BSL-1.0
#include "store/redis/queue_reaper.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace mortise::store_detail {
namespace {

constexpr std::size_t locks_at_once = 64;

/// A grant that has ended, as the server names it: SESSION:ID:NAME.
struct ended_grant {
    std::string holder;  ///< SESSION:ID
    std::string lock;
};

ended_grant parse_ended_grant(std::string_view text) {
    const auto session = std::min(text.find(':'), text.size());
    const auto id = std::min(text.find(':', session + 1), text.size());
    ended_grant found;
    found.holder = text.substr(0, id);
    found.lock = text.substr(std::min(id + 1, text.size()));
    return found;
}

}  // namespace

void queue_reaper::begin(beat_answer found) {
    if (found.has_any() && !std::exchange(running_, true))
        asio::co_spawn(link_->strand(), run(shared_from_this(), std::move(found)), asio::detached);
}

asio::awaitable<void>
queue_reaper::run([[maybe_unused]] std::shared_ptr<queue_reaper> self, beat_answer found) {
    auto reaping = reap(std::move(found));
    co_await std::move(reaping);
    running_ = false;
}

// One that fails does not keep the others, unless the connection is at fault. A session with much
// is removed after those with little.
asio::awaitable<error_code> queue_reaper::reap(beat_answer found) {
    const auto is_over = [](const error_code& failed) {
        return failed == errc::store_unavailable || failed == errc::outcome_unknown;
    };
    if (!found.ended.empty()) {
        auto expiring = expire(std::move(found.ended));
        if (const auto failed = co_await std::move(expiring); is_over(failed))
            co_return failed;
    }
    if (!found.blocked.empty()) {
        auto advancing = advance(std::move(found.blocked));
        if (const auto failed = co_await std::move(advancing); is_over(failed))
            co_return failed;
    }
    for (const std::size_t at_most : {locks_at_once, std::numeric_limits<std::size_t>::max()}) {
        std::vector<std::string> left;
        for (auto& each : found.dead) {
            std::size_t budget = at_most;
            auto burying = bury_some(each, budget, false);
            const auto gone = co_await std::move(burying);
            if (!gone && is_over(gone.error()))
                co_return gone.error();
            if (gone && !*gone)
                left.push_back(std::move(each));
        }
        found.dead = std::move(left);
    }
    co_return error_code();
}

asio::awaitable<error_code> queue_reaper::bury(std::string session) {
    const auto kept = shared_from_this();
    for (;;) {
        auto budget = std::numeric_limits<std::size_t>::max();
        auto burying = bury_some(session, budget, true);
        const auto gone = co_await std::move(burying);
        if (!gone)
            co_return gone.error();
        if (*gone)
            co_return error_code();
    }
}

asio::awaitable<result<bool>>
queue_reaper::bury_some(std::string session, std::size_t& budget, bool may_pass) {
    const auto& keys = link_->keys();
    std::string cursor = "0";
    do {
        auto surveying = call(survey_of(keys, session, cursor), may_pass);
        const auto reply = co_await std::move(surveying);
        if (!reply)
            co_return reply.error();
        auto found = parse_survey(*reply);
        if (!found)
            co_return found.error();
        cursor = std::move(found->cursor);
        for (std::size_t at = 0; at < found->entries.size() && budget != 0;) {
            const auto count = std::min({found->entries.size() - at, locks_at_once, budget});
            auto locks = keys.rules(session);
            std::vector<std::string> ids;
            budget -= count;
            for (const auto end = at + count; at < end; ++at) {
                keys.add_lock(locks, found->entries[at].lock);
                ids.push_back(std::to_string(found->entries[at].id));
            }
            locks.push_back(keys.of("id"));
            auto expelling =
                run(script_call(redis_script::expel, std::move(locks), std::move(ids)), may_pass);
            if (const auto failed = co_await std::move(expelling))
                co_return failed;
        }
        if (budget == 0)
            co_return false;
    } while (cursor != "0");
    --budget;
    auto forgetting = call(
        script_call(redis_script::forget, keys.all(session), std::vector<std::string>()), may_pass
    );
    const auto reply = co_await std::move(forgetting);
    if (!reply)
        co_return reply.error();
    if (reply->text == "m")
        co_return false;
    if (const auto failed = parse_done(*reply))
        co_return failed;  // It lives.
    co_return true;
}

asio::awaitable<error_code> queue_reaper::expire(std::vector<std::string> ended) {
    auto keys = link_->keys().rules({});
    std::vector<std::string> indexes;
    for (auto& each : ended) {
        auto grant = parse_ended_grant(each);
        link_->keys().add_lock(keys, grant.lock);
        indexes.push_back(link_->keys().index(grant.holder.substr(0, grant.holder.find(':'))));
        each = std::move(grant.holder);
    }
    std::move(indexes.begin(), indexes.end(), std::back_inserter(keys));
    return run(script_call(redis_script::expire, std::move(keys), std::move(ended)), false);
}

asio::awaitable<error_code> queue_reaper::advance(std::vector<std::string> blocked) {
    auto keys = link_->keys().rules({});
    for (const auto& each : blocked)
        link_->keys().add_lock(keys, each);
    return run(
        script_call(redis_script::advance, std::move(keys), std::vector<std::string>()), false
    );
}

queue_reaper::call_result queue_reaper::call(script_call wanted, bool may_pass) {
    return may_pass ? link_->ask(std::move(wanted)) : link_->act(std::move(wanted));
}

asio::awaitable<error_code> queue_reaper::run(script_call wanted, bool may_pass) {
    auto asking = call(std::move(wanted), may_pass);
    const auto reply = co_await std::move(asking);
    co_return reply ? parse_done(*reply) : reply.error();
}

}  // namespace mortise::store_detail
