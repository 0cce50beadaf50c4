// SPDX-License-Identifier: BSL-1.0
// Commands on texts, on the expiry of keys, and on keys of any type.
#include "redis_model/command.hpp"
#include "redis_model/words.hpp"

#include <limits>
#include <optional>
#include <utility>

namespace mortise::redis_model {
namespace {

constexpr std::int64_t integer_max = std::numeric_limits<std::int64_t>::max();

struct set_options {
    bool only_new = false;
    bool only_old = false;
    bool tell_old = false;
    bool keep_ttl = false;
    std::optional<std::int64_t> expires;
};

[[noreturn]] void refuse_syntax() {
    throw refusal("ERR syntax error");
}

/// When something expires that lasts for `span` units of `unit` milliseconds.
std::int64_t expiry(
    const keyspace& data, std::int64_t span, std::int64_t unit, bool past_allowed, const char* name
) {
    const std::int64_t far = integer_max / unit;
    const bool fits = span <= far && span >= -far && span * unit <= integer_max - data.now_ms();
    if (!fits || (span <= 0 && !past_allowed))
        throw refusal(std::string("ERR invalid expire time in '") + name + "' command");
    return data.now_ms() + span * unit;
}

set_options read_set_options(const invocation& at) {
    set_options options;
    const std::string* span = nullptr;
    std::int64_t unit = 1;
    for (std::size_t i = 3; i < at.size(); ++i) {
        const bool takes_span = i + 1 < at.size() && !span && !options.keep_ttl;
        if (is_word(at[i], "NX") && !options.only_old)
            options.only_new = true;
        else if (is_word(at[i], "XX") && !options.only_new)
            options.only_old = true;
        else if (is_word(at[i], "GET"))
            options.tell_old = true;
        else if (is_word(at[i], "KEEPTTL") && !span)
            options.keep_ttl = true;
        else if (takes_span && (is_word(at[i], "PX") || is_word(at[i], "EX"))) {
            unit = is_word(at[i], "PX") ? 1 : 1000;
            span = &at[++i];
        } else
            refuse_syntax();
    }
    if (span)
        options.expires = expiry(at.data, integer_of(*span), unit, false, "set");
    return options;
}

reply get(invocation& at) {
    const auto* const found = at.data.read<std::string>(at[1]);
    return found ? bulk(*found) : no_value();
}

reply set(invocation& at) {
    const set_options options = read_set_options(at);
    const reply old = options.tell_old ? get(at) : status("OK");
    const entry* const found = at.data.find(at[1]);
    if ((options.only_new && found) || (options.only_old && !found))
        return options.tell_old ? old : no_value();
    const auto kept = found && options.keep_ttl ? found->expires : options.expires;
    at.data.put(at[1], at[2]).expires = kept;
    at.data.touch(at[1]);
    return old;
}

reply getset(invocation& at) {
    const reply old = get(at);
    at.data.put(at[1], at[2]).expires.reset();
    at.data.touch(at[1]);
    return old;
}

reply add(invocation& at, std::int64_t step) {
    const auto* const found = at.data.read<std::string>(at[1]);
    const std::int64_t old = found ? integer_of(*found) : 0;
    std::int64_t sum = 0;
    if (__builtin_add_overflow(old, step, &sum))
        throw refusal("ERR increment or decrement would overflow");
    at.data.make<std::string>(at[1]) = std::to_string(sum);
    at.data.touch(at[1]);
    return integer(sum);
}

reply incr(invocation& at) {
    return add(at, 1);
}

reply incrby(invocation& at) {
    return add(at, integer_of(at[2]));
}

reply del(invocation& at) {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < at.size(); ++i)
        count += at.data.find(at[i]) && at.data.erase(at[i]) ? 1 : 0;
    return integer(count);
}

reply exists(invocation& at) {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < at.size(); ++i)
        count += at.data.find(at[i]) ? 1 : 0;
    return integer(count);
}

reply type(invocation& at) {
    constexpr const char* names[] = {"string", "hash", "set", "list", "zset"};
    const entry* const found = at.data.find(at[1]);
    return status(found ? names[found->value.index()] : "none");
}

struct expire_options {
    bool only_new = false;
    bool only_old = false;
    bool only_later = false;
    bool only_earlier = false;
};

expire_options read_expire_options(const invocation& at) {
    expire_options options;
    for (std::size_t i = 3; i < at.size(); ++i) {
        if (is_word(at[i], "NX"))
            options.only_new = true;
        else if (is_word(at[i], "XX"))
            options.only_old = true;
        else if (is_word(at[i], "GT"))
            options.only_later = true;
        else if (is_word(at[i], "LT"))
            options.only_earlier = true;
        else
            throw refusal("ERR Unsupported option " + at[i]);
    }
    if (options.only_new && (options.only_old || options.only_later || options.only_earlier))
        throw refusal("ERR NX and XX, GT or LT options at the same time are not compatible");
    if (options.only_later && options.only_earlier)
        throw refusal("ERR GT and LT options at the same time are not compatible");
    return options;
}

reply expire(invocation& at, std::int64_t unit, const char* name) {
    const expire_options options = read_expire_options(at);
    const std::int64_t when = expiry(at.data, integer_of(at[2]), unit, true, name);
    entry* const found = at.data.open(at[1]);
    if (!found)
        return integer(0);
    const auto was = found->expires;
    if ((options.only_new && was) || (options.only_old && !was) ||
        (options.only_later && (!was || when <= *was)) ||
        (options.only_earlier && was && when >= *was))
        return integer(0);
    if (when <= at.data.now_ms()) {
        at.data.erase(at[1]);
        return integer(1);
    }
    found->expires = when;
    at.data.touch(at[1]);
    return integer(1);
}

reply expire_seconds(invocation& at) {
    return expire(at, 1000, "expire");
}

reply pexpire(invocation& at) {
    return expire(at, 1, "pexpire");
}

reply pttl(invocation& at) {
    const entry* const found = at.data.find(at[1]);
    if (!found)
        return integer(-2);
    return integer(found->expires ? *found->expires - at.data.now_ms() : -1);
}

reply persist(invocation& at) {
    entry* const found = at.data.open(at[1]);
    if (!found || !found->expires)
        return integer(0);
    found->expires.reset();
    at.data.touch(at[1]);
    return integer(1);
}

reply keys(invocation& at) {
    std::vector<std::string> names;
    for (const auto& [name, held] : at.data.keys()) {
        const bool lives = !held.expires || *held.expires >= at.data.now_ms();
        if (lives && matches(at[1], name))
            names.push_back(name);
    }
    return array_of(names);
}

reply dbsize(invocation& at) {
    return count_of(at.data.keys().size());
}

}  // namespace

void add_text_commands(command_map& to) {
    to["GET"] = {2, reads(), &get};
    to["SET"] = {-3, grows(), &set};
    to["GETSET"] = {3, grows(), &getset};
    to["INCR"] = {2, grows(), &incr};
    to["INCRBY"] = {3, grows(), &incrby};
    to["DEL"] = {-2, writes(), &del};
    to["UNLINK"] = {-2, writes(), &del};
    to["EXISTS"] = {-2, reads(), &exists};
    to["TYPE"] = {2, reads(), &type};
    to["EXPIRE"] = {-3, writes(), &expire_seconds};
    to["PEXPIRE"] = {-3, writes(), &pexpire};
    to["PTTL"] = {2, reads(), &pttl};
    to["PERSIST"] = {2, writes(), &persist};
    to["KEYS"] = {2, reads(), &keys};
    to["DBSIZE"] = {1, reads(), &dbsize};
}

}  // namespace mortise::redis_model
