// SPDX-License-Identifier: BSL-1.0
#include "redis_model/command.hpp"
#include "redis_model/words.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis_model {
namespace {

reply field_of(const hash_map* in, const std::string& field) {
    if (!in)
        return no_value();
    const auto found = in->find(field);
    return found == in->end() ? no_value() : bulk(found->second);
}

reply hget(invocation& at) {
    return field_of(at.data.read<hash_map>(at[1]), at[2]);
}

reply hmget(invocation& at) {
    const auto* const found = at.data.read<hash_map>(at[1]);
    std::vector<reply> values;
    for (std::size_t i = 2; i < at.size(); ++i)
        values.push_back(field_of(found, at[i]));
    return array(std::move(values));
}

std::int64_t set_fields(invocation& at, const char* name) {
    if (at.size() % 2 != 0)
        throw refusal(std::string("ERR wrong number of arguments for '") + name + "' command");
    hash_map& fields = at.data.make<hash_map>(at[1]);
    std::int64_t added = 0;
    for (std::size_t i = 2; i < at.size(); i += 2)
        added += fields.insert_or_assign(at[i], at[i + 1]).second ? 1 : 0;
    at.data.touch(at[1]);
    return added;
}

reply hset(invocation& at) {
    return integer(set_fields(at, "hset"));
}

reply hmset(invocation& at) {
    set_fields(at, "hmset");
    return status("OK");
}

reply hsetnx(invocation& at) {
    const auto* const found = at.data.read<hash_map>(at[1]);
    if (found && found->contains(at[2]))
        return integer(0);
    at.data.make<hash_map>(at[1])[at[2]] = at[3];
    at.data.touch(at[1]);
    return integer(1);
}

reply hdel(invocation& at) {
    auto* const found = at.data.change<hash_map>(at[1]);
    if (!found)
        return integer(0);
    std::size_t gone = 0;
    for (std::size_t i = 2; i < at.size(); ++i)
        gone += found->erase(at[i]);
    if (gone != 0)
        at.data.touch(at[1]);
    at.data.drop_if_empty<hash_map>(at[1]);
    return count_of(gone);
}

reply hlen(invocation& at) {
    const auto* const found = at.data.read<hash_map>(at[1]);
    return count_of(found ? found->size() : 0);
}

reply hexists(invocation& at) {
    const auto* const found = at.data.read<hash_map>(at[1]);
    return truth(found && found->contains(at[2]));
}

reply all_of(invocation& at, bool names, bool values) {
    std::vector<std::string> texts;
    if (const auto* const found = at.data.read<hash_map>(at[1])) {
        for (const auto& [name, value] : *found) {
            if (names)
                texts.push_back(name);
            if (values)
                texts.push_back(value);
        }
    }
    return array_of(texts);
}

reply hgetall(invocation& at) {
    return all_of(at, true, true);
}

reply hkeys(invocation& at) {
    return all_of(at, true, false);
}

reply hvals(invocation& at) {
    return all_of(at, false, true);
}

reply hincrby(invocation& at) {
    const std::int64_t step = integer_of(at[3]);
    std::int64_t sum = 0;
    if (const auto* const found = at.data.read<hash_map>(at[1])) {
        const auto field = found->find(at[2]);
        if (field != found->end()) {
            const auto value = to_integer(field->second);
            if (!value)
                throw refusal("ERR hash value is not an integer");
            sum = *value;
        }
    }
    if (__builtin_add_overflow(sum, step, &sum))
        throw refusal("ERR increment or decrement would overflow");
    at.data.make<hash_map>(at[1])[at[2]] = std::to_string(sum);
    at.data.touch(at[1]);
    return integer(sum);
}

struct scan_options {
    std::size_t count = 10;
    std::string pattern = "*";
};

scan_options read_scan_options(const invocation& at) {
    scan_options options;
    for (std::size_t i = 3; i < at.size(); i += 2) {
        if (is_word(at[i], "COUNT") && i + 1 < at.size()) {
            const std::int64_t count = integer_of(at[i + 1]);
            if (count < 1)
                throw refusal("ERR syntax error");
            options.count = static_cast<std::size_t>(count);
        } else if (is_word(at[i], "MATCH") && i + 1 < at.size()) {
            options.pattern = at[i + 1];
        } else {
            throw refusal("ERR syntax error");
        }
    }
    return options;
}

/// The place of a field in a scan: an order that is unrelated to the names.
std::uint64_t scan_place(const std::string& field) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char each : field)
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    return (hash >> 16) + 1;
}

/// A scan returns a small hash in one step.
bool is_small(const hash_map& fields) {
    constexpr std::size_t fields_max = 128;
    return fields.size() <= fields_max &&
           std::all_of(fields.begin(), fields.end(), [](const auto& each) {
               constexpr std::size_t bytes_max = 64;
               return each.first.size() <= bytes_max && each.second.size() <= bytes_max;
           });
}

reply hscan(invocation& at) {
    const auto cursor = to_integer(at[2]);
    if (!cursor || *cursor < 0)
        throw refusal("ERR invalid cursor");
    const auto* const found = at.data.read<hash_map>(at[1]);
    if (!found)
        return array({bulk("0"), array()});
    const scan_options options = read_scan_options(at);
    std::multimap<std::uint64_t, const hash_map::value_type*> places;
    for (const auto& each : *found)
        places.emplace(scan_place(each.first), &each);
    const std::size_t count = is_small(*found) ? places.size() : options.count;
    std::vector<std::string> texts;
    std::uint64_t next = 0;
    std::size_t seen = 0;
    std::uint64_t last = 0;
    for (auto each = places.lower_bound(static_cast<std::uint64_t>(*cursor)); each != places.end();
         ++each) {
        if (seen >= count && each->first != last) {
            next = each->first;
            break;
        }
        ++seen;
        last = each->first;
        if (matches(options.pattern, each->second->first))
            texts.insert(texts.end(), {each->second->first, each->second->second});
    }
    return array({bulk(std::to_string(next)), array_of(texts)});
}

}  // namespace

void add_hash_commands(command_map& to) {
    to["HGET"] = {3, reads(), &hget};
    to["HMGET"] = {-3, reads(), &hmget};
    to["HSET"] = {-4, grows(), &hset};
    to["HMSET"] = {-4, grows(), &hmset};
    to["HSETNX"] = {4, grows(), &hsetnx};
    to["HDEL"] = {-3, writes(), &hdel};
    to["HLEN"] = {2, reads(), &hlen};
    to["HEXISTS"] = {3, reads(), &hexists};
    to["HGETALL"] = {2, reads(), &hgetall};
    to["HKEYS"] = {2, reads(), &hkeys};
    to["HVALS"] = {2, reads(), &hvals};
    to["HSCAN"] = {-3, reads(), &hscan};
    to["HINCRBY"] = {4, grows(), &hincrby};
}

}  // namespace mortise::redis_model
