// SPDX-License-Identifier: BSL-1.0
// Set and list commands.
#include "redis_model/command.hpp"
#include "redis_model/words.hpp"

namespace mortise::redis_model {
namespace {

reply sadd(invocation& at) {
    auto& members = at.data.make<member_set>(at[1]);
    std::int64_t added = 0;
    for (std::size_t i = 2; i < at.size(); ++i)
        added += members.insert(at[i]).second ? 1 : 0;
    if (added != 0)
        at.data.touch(at[1]);
    return integer(added);
}

reply srem(invocation& at) {
    auto* const found = at.data.change<member_set>(at[1]);
    if (!found)
        return integer(0);
    std::size_t gone = 0;
    for (std::size_t i = 2; i < at.size(); ++i)
        gone += found->erase(at[i]);
    if (gone != 0)
        at.data.touch(at[1]);
    at.data.drop_if_empty<member_set>(at[1]);
    return count_of(gone);
}

reply smembers(invocation& at) {
    const auto* const found = at.data.read<member_set>(at[1]);
    return found ? array_of({found->begin(), found->end()}) : array();
}

reply sismember(invocation& at) {
    const auto* const found = at.data.read<member_set>(at[1]);
    return truth(found && found->contains(at[2]));
}

reply scard(invocation& at) {
    const auto* const found = at.data.read<member_set>(at[1]);
    return count_of(found ? found->size() : 0);
}

reply push(invocation& at, bool in_front) {
    auto& items = at.data.make<text_list>(at[1]);
    for (std::size_t i = 2; i < at.size(); ++i)
        items.insert(in_front ? items.begin() : items.end(), at[i]);
    at.data.touch(at[1]);
    return count_of(items.size());
}

reply lpush(invocation& at) {
    return push(at, true);
}

reply rpush(invocation& at) {
    return push(at, false);
}

reply ltrim(invocation& at) {
    const std::int64_t first = integer_of(at[2]);
    const std::int64_t last = integer_of(at[3]);
    auto* const found = at.data.change<text_list>(at[1]);
    if (!found)
        return status("OK");
    text_list kept;
    if (const auto range = clip(first, last, found->size())) {
        for (std::size_t i = range->first; i <= range->last; ++i)
            kept.push_back((*found)[i]);
    }
    *found = std::move(kept);
    at.data.touch(at[1]);
    at.data.drop_if_empty<text_list>(at[1]);
    return status("OK");
}

reply lrange(invocation& at) {
    const std::int64_t first = integer_of(at[2]);
    const std::int64_t last = integer_of(at[3]);
    const auto* const found = at.data.read<text_list>(at[1]);
    std::vector<reply> items;
    if (const auto range = clip(first, last, found ? found->size() : 0)) {
        for (std::size_t i = range->first; i <= range->last; ++i)
            items.push_back(bulk((*found)[i]));
    }
    return array(std::move(items));
}

reply llen(invocation& at) {
    const auto* const found = at.data.read<text_list>(at[1]);
    return count_of(found ? found->size() : 0);
}

}  // namespace

void add_set_commands(command_map& to) {
    to["SADD"] = {-3, grows(), &sadd};
    to["SREM"] = {-3, writes(), &srem};
    to["SMEMBERS"] = {2, reads(), &smembers};
    to["SISMEMBER"] = {3, reads(), &sismember};
    to["SCARD"] = {2, reads(), &scard};
    to["LPUSH"] = {-3, grows(), &lpush};
    to["RPUSH"] = {-3, grows(), &rpush};
    to["LTRIM"] = {4, writes(), &ltrim};
    to["LRANGE"] = {4, reads(), &lrange};
    to["LLEN"] = {2, reads(), &llen};
}

}  // namespace mortise::redis_model
