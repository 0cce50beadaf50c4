// SPDX-License-Identifier: BSL-1.0
// What the server has for a session, read in portions: none of them holds the server up, however
// much it is.
#include "store/redis/queue_link.hpp"
#include "store/redis/redis_answers.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

namespace mortise::store_detail {

script_call survey_of(
    const store_keys& keys, std::string_view session, std::string cursor, std::string generation
) {
    std::vector<std::string> arguments(1, std::move(cursor));
    if (!generation.empty())
        arguments.push_back(std::move(generation));
    return script_call(redis_script::survey, keys.own(session), std::move(arguments));
}

asio::awaitable<result<session_view>> queue_link::read_view() {
    return view_on(wire());
}

// What changes between two portions is told by the change number, which is that of the first one:
// an entry that is there all the time is read, whatever happens to others.
asio::awaitable<result<session_view>> queue_link::view_on(wire_ptr wire) {
    constexpr std::size_t at_once = 64;
    const auto kept = shared_from_this();
    const std::string name = session_name();
    const std::string generation = argument({});
    session_view view;
    std::set<request_id> read;  // A portion may repeat what was in another one.
    std::string cursor = "0";
    bool first = true;
    do {
        auto surveying = evaluate(wire, survey_of(keys_, name, cursor, generation));
        const auto reply = co_await std::move(surveying);
        if (!reply)
            co_return reply.error();
        auto found = parse_survey(*reply);
        if (!found)
            co_return found.error();
        if (std::exchange(first, false))
            view.changes = found->changes;
        cursor = std::move(found->cursor);
        auto& entries = found->entries;
        std::erase_if(entries, [&](const auto& each) { return !read.insert(each.id).second; });
        for (std::size_t at = 0; at < entries.size(); at += at_once) {
            const auto end = std::min(entries.size(), at + at_once);
            auto keys = keys_.rules(name);
            std::vector<std::string> arguments;
            arguments.push_back(generation);
            std::vector<request_id> ids;
            for (std::size_t i = at; i < end; ++i) {
                keys_.add_lock(keys, entries[i].lock);
                arguments.push_back(std::to_string(entries[i].id));
                ids.push_back(entries[i].id);
            }
            auto asking = evaluate(
                wire, script_call(redis_script::state, std::move(keys), std::move(arguments))
            );
            const auto states = co_await std::move(asking);
            if (!states)
                co_return states.error();
            auto some = parse_states(*states, ids, domain());
            if (!some)
                co_return some.error();
            std::move(some->begin(), some->end(), std::back_inserter(view.entries));
        }
    } while (cursor != "0");
    co_return view;
}

}  // namespace mortise::store_detail
