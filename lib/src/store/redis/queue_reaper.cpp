// SPDX-License-Identifier: BSL-1.0
#include "store/redis/queue_reaper.hpp"

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

asio::awaitable<bool> queue_reaper::reap(beat_answer found) {
    constexpr std::size_t entries_max = 256;
    bool all = found.dead.size() < beat_answer::portion &&
               found.ended.size() < beat_answer::portion &&
               found.blocked.size() < beat_answer::portion;
    std::size_t budget = entries_max;
    for (auto& each : found.dead) {
        if (budget == 0) {
            all = false;
            break;
        }
        auto burying = bury_some(std::move(each), budget);
        const auto gone = co_await std::move(burying);
        all = all && gone && *gone;
    }
    if (!found.ended.empty()) {
        auto expiring = expire(std::move(found.ended));
        all = co_await std::move(expiring) && all;
    }
    if (!found.blocked.empty()) {
        auto advancing = advance(std::move(found.blocked));
        all = co_await std::move(advancing) && all;
    }
    co_return all;
}

asio::awaitable<error_code> queue_reaper::bury(std::string session) {
    for (;;) {
        auto budget = std::numeric_limits<std::size_t>::max();
        auto burying = bury_some(session, budget);
        const auto gone = co_await std::move(burying);
        if (!gone)
            co_return gone.error();
        if (*gone)
            co_return error_code();
    }
}

asio::awaitable<result<bool>> queue_reaper::bury_some(std::string session, std::size_t& budget) {
    const auto& keys = link_.keys();
    std::string cursor = "0";
    do {
        std::vector<std::string> from;
        from.push_back(cursor);
        auto surveying =
            link_.ask(script_call(redis_script::survey, keys.own(session), std::move(from)));
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
            auto expelling =
                run(script_call(redis_script::expel, std::move(locks), std::move(ids)));
            if (const auto failed = co_await std::move(expelling))
                co_return failed;
        }
        if (budget == 0)
            co_return false;
    } while (cursor != "0");
    --budget;
    auto forgetting =
        link_.ask(script_call(redis_script::forget, keys.all(session), std::vector<std::string>()));
    const auto reply = co_await std::move(forgetting);
    if (!reply)
        co_return reply.error();
    co_return reply->text != "m";
}

asio::awaitable<bool> queue_reaper::expire(std::vector<std::string> ended) {
    auto keys = link_.keys().rules({});
    std::vector<std::string> indexes;
    for (auto& each : ended) {
        auto grant = parse_ended_grant(each);
        link_.keys().add_lock(keys, grant.lock);
        indexes.push_back(link_.keys().index(grant.holder.substr(0, grant.holder.find(':'))));
        each = std::move(grant.holder);
    }
    std::move(indexes.begin(), indexes.end(), std::back_inserter(keys));
    auto running = run(script_call(redis_script::expire, std::move(keys), std::move(ended)));
    co_return !co_await std::move(running);
}

asio::awaitable<bool> queue_reaper::advance(std::vector<std::string> blocked) {
    auto keys = link_.keys().rules({});
    for (const auto& each : blocked)
        link_.keys().add_lock(keys, each);
    auto running =
        run(script_call(redis_script::advance, std::move(keys), std::vector<std::string>()));
    co_return !co_await std::move(running);
}

asio::awaitable<error_code> queue_reaper::run(script_call wanted) {
    auto asking = link_.ask(std::move(wanted));
    const auto reply = co_await std::move(asking);
    co_return reply ? parse_done(*reply) : reply.error();
}

}  // namespace mortise::store_detail
