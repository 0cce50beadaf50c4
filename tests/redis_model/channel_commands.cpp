// SPDX-License-Identifier: BSL-1.0
// Publishing, subscribing, and notices of changed keys.
#include "redis_model/command.hpp"
#include "redis_model/server_state.hpp"
#include "redis_model/words.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis_model {
namespace {

client_state& self(const invocation& at) {
    return at.server.clients.at(at.client);
}

reply publish(invocation& at) {
    return count_of(at.server.publish(at[1], at[2]));
}

/// Sends the confirmation, which is a push. There is no other reply.
void confirm(client_state& to, const char* verb, const std::string& channel) {
    to.push(to_value(array({bulk(verb), bulk(channel), count_of(to.channels.size())})));
}

reply subscribe(invocation& at) {
    client_state& who = self(at);
    for (std::size_t i = 1; i < at.size(); ++i) {
        who.channels.insert(at[i]);
        confirm(who, "subscribe", at[i]);
    }
    return no_value();
}

reply unsubscribe(invocation& at) {
    client_state& who = self(at);
    std::vector<std::string> channels(at.args.begin() + 1, at.args.end());
    if (channels.empty())
        channels.assign(who.channels.begin(), who.channels.end());
    for (const auto& each : channels) {
        who.channels.erase(each);
        confirm(who, "unsubscribe", each);
    }
    if (channels.empty())
        who.push(to_value(array({bulk("unsubscribe"), no_value(), integer(0)})));
    return no_value();
}

std::size_t subscribers(const server_state& at, const std::string& channel) {
    return static_cast<std::size_t>(std::count_if(
        at.clients.begin(),
        at.clients.end(),
        [&](const auto& each) { return each.second.channels.contains(channel); }
    ));
}

reply pubsub(invocation& at) {
    if (is_word(at[1], "NUMSUB")) {
        std::vector<reply> counts;
        for (std::size_t i = 2; i < at.size(); ++i) {
            counts.push_back(bulk(at[i]));
            counts.push_back(count_of(subscribers(at.server, at[i])));
        }
        return array(std::move(counts));
    }
    if (is_word(at[1], "CHANNELS")) {
        std::set<std::string> names;
        for (const auto& [id, each] : at.server.clients) {
            for (const auto& channel : each.channels) {
                if (at.size() < 3 || matches(at[2], channel))
                    names.insert(channel);
            }
        }
        return array_of({names.begin(), names.end()});
    }
    throw refusal("ERR unknown subcommand '" + at[1] + "'. Try PUBSUB HELP.");
}

bool overlap(const std::string& a, const std::string& b) {
    return a.starts_with(b) || b.starts_with(a);
}

void add_prefix(std::set<std::string>& to, const std::string& prefix) {
    for (const auto& each : to) {
        if (each != prefix && overlap(each, prefix))
            throw refusal(
                "ERR Prefix '" + prefix + "' overlaps with an existing prefix '" + each +
                "'. Prefixes for a single client must not overlap."
            );
    }
    to.insert(prefix);
}

reply tracking(invocation& at) {
    client_state& who = self(at);
    if (at.size() < 3)
        throw refusal("ERR wrong number of arguments for 'client|tracking' command");
    bool to_all = false;
    bool hears_itself = true;
    std::set<std::string> prefixes = who.prefixes;
    for (std::size_t i = 3; i < at.size(); ++i) {
        if (is_word(at[i], "BCAST"))
            to_all = true;
        else if (is_word(at[i], "NOLOOP"))
            hears_itself = false;
        else if (is_word(at[i], "PREFIX") && i + 1 < at.size())
            add_prefix(prefixes, at[++i]);
        else
            throw refusal("ERR syntax error");
    }
    if (is_word(at[2], "OFF")) {
        who.tracks = false;
        who.prefixes.clear();
        return status("OK");
    }
    if (!is_word(at[2], "ON"))
        throw refusal("ERR syntax error");
    if (!to_all)
        throw refusal("ERR this server tracks in BCAST mode only");
    if (prefixes.empty())
        prefixes.insert("");
    who.tracks = true;
    who.hears_itself = hears_itself;
    who.prefixes = std::move(prefixes);
    return status("OK");
}

reply client(invocation& at) {
    if (is_word(at[1], "TRACKING"))
        return tracking(at);
    if (is_word(at[1], "ID"))
        return integer(static_cast<std::int64_t>(at.client));
    if (is_word(at[1], "SETNAME") && at.size() == 3) {
        self(at).name = at[2];
        return status("OK");
    }
    if (is_word(at[1], "GETNAME"))
        return self(at).name.empty() ? no_value() : bulk(self(at).name);
    throw refusal("ERR unknown subcommand '" + at[1] + "'. Try CLIENT HELP.");
}

}  // namespace

void add_channel_commands(command_map& to) {
    command_flags any_time;
    any_time.while_loading = true;
    command_flags outside = any_time;
    outside.no_script = true;
    to["PUBLISH"] = {3, any_time, &publish};
    to["PUBSUB"] = {-2, any_time, &pubsub};
    to["SUBSCRIBE"] = {-2, outside, &subscribe};
    to["UNSUBSCRIBE"] = {-1, outside, &unsubscribe};
    to["CLIENT"] = {-2, outside, &client};
}

}  // namespace mortise::redis_model
