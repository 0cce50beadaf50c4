// SPDX-License-Identifier: BSL-1.0
// Commands on the server, its settings and its scripts.
#include "redis_model/command.hpp"
#include "redis_model/dispatch.hpp"
#include "redis_model/server_info.hpp"
#include "redis_model/server_state.hpp"
#include "redis_model/words.hpp"

#include <span>
#include <utility>

namespace mortise::redis_model {
namespace {

reply time(invocation& at) {
    constexpr std::int64_t million = 1'000'000;
    const std::int64_t now = at.server.now_us;
    return array_of({std::to_string(now / million), std::to_string(now % million)});
}

reply ping(invocation& at) {
    if (at.size() > 2)
        throw refusal("ERR wrong number of arguments for 'ping' command");
    return at.size() == 2 ? bulk(at[1]) : status("PONG");
}

reply echo(invocation& at) {
    return bulk(at[1]);
}

reply select(invocation& at) {
    if (integer_of(at[1]) != 0)
        throw refusal("ERR DB index is out of range");
    return status("OK");
}

reply info(invocation& at) {
    return bulk(server_info(at.server, std::span(at.args).subspan(1)));
}

reply role(invocation& at) {
    if (at.server.wrong.read_only)
        return array(
            {bulk("slave"),
             bulk("127.0.0.1"),
             integer(6379),
             bulk("connected"),
             integer(at.server.offset)}
        );
    std::vector<reply> replicas;
    for (std::size_t i = 0; i < at.server.replicas; ++i)
        replicas.push_back(array_of({"127.0.0.1", "6380", std::to_string(at.server.offset)}));
    return array({bulk("master"), integer(at.server.offset), array(std::move(replicas))});
}

reply wait(invocation& at) {
    if (at.server.wrong.read_only)
        throw refusal("ERR WAIT cannot be used with replica instances. Please also note that "
                      "since Redis 4.0 if a replica is configured to be writable (which is not "
                      "the default) writes to replicas are just local and are not propagated.");
    integer_of(at[1]);
    if (integer_of(at[2]) < 0)
        throw refusal("ERR timeout is negative");
    return count_of(at.server.replicas);
}

reply flush(invocation& at) {
    if (at.size() > 2 || (at.size() == 2 && !is_word(at[1], "ASYNC") && !is_word(at[1], "SYNC")))
        throw refusal("ERR syntax error");
    at.data.clear();
    at.server.tell_flushed();
    return status("OK");
}

reply config(invocation& at) {
    auto& settings = at.server.config;
    if (is_word(at[1], "GET") && at.size() >= 3) {
        std::vector<std::string> found;
        for (const auto& [name, value] : settings) {
            bool wanted = false;
            for (std::size_t i = 2; i < at.size(); ++i)
                wanted = wanted || matches(lower(at[i]), name);
            if (wanted)
                found.insert(found.end(), {name, value});
        }
        return array_of(found);
    }
    if (is_word(at[1], "SET") && at.size() >= 4 && at.size() % 2 == 0) {
        for (std::size_t i = 2; i < at.size(); i += 2) {
            if (!settings.contains(lower(at[i])))
                throw refusal(
                    "ERR Unknown option or number of arguments for CONFIG SET - '" + at[i] + "'"
                );
            settings[lower(at[i])] = at[i + 1];
        }
        return status("OK");
    }
    if (is_word(at[1], "RESETSTAT")) {
        at.server.counts = {};
        return status("OK");
    }
    throw refusal("ERR unknown subcommand '" + at[1] + "'. Try CONFIG HELP.");
}

void check_password(invocation& at, const std::string& user, const std::string& password) {
    if (user != "default" || password != at.server.wrong.password)
        throw refusal("WRONGPASS invalid username-password pair or user is disabled.");
    at.server.clients.at(at.client).trusted = true;
}

reply auth(invocation& at) {
    if (at.size() > 3)
        throw refusal("ERR syntax error");
    if (at.size() == 2 && at.server.wrong.password.empty())
        throw refusal("ERR AUTH <password> called without any password configured for the default "
                      "user. Are you sure your configuration is correct?");
    check_password(at, at.size() == 3 ? at[1] : "default", at.args.back());
    return status("OK");
}

reply hello(invocation& at) {
    client_state& who = at.server.clients.at(at.client);
    if (at.size() > 1 && to_integer(at[1]).value_or(0) != 3)
        throw refusal("NOPROTO unsupported protocol version");
    for (std::size_t i = 2; i < at.size(); ++i) {
        if (is_word(at[i], "AUTH") && i + 2 < at.size()) {
            check_password(at, at[i + 1], at[i + 2]);
            i += 2;
        } else if (is_word(at[i], "SETNAME") && i + 1 < at.size()) {
            who.name = at[++i];
        } else {
            throw refusal("ERR Syntax error in HELLO option '" + at[i] + "'");
        }
    }
    if (!at.server.wrong.password.empty() && !who.trusted)
        throw refusal("NOAUTH HELLO must be called with the client already authenticated, "
                      "otherwise the HELLO AUTH <user> <pass> option can be used to "
                      "authenticate the client and select the RESP protocol version at the same "
                      "time");
    const bool replica = at.server.wrong.read_only;
    return array(
        {bulk("server"),
         bulk("redis"),
         bulk("version"),
         bulk("7.0.15"),
         bulk("proto"),
         integer(3),
         bulk("id"),
         integer(static_cast<std::int64_t>(at.client)),
         bulk("mode"),
         bulk("standalone"),
         bulk("role"),
         bulk(replica ? "replica" : "master"),
         bulk("modules"),
         array()}
    );
}

reply run_script(invocation& at, const std::string& sha1, std::size_t key_count) {
    const auto words = std::span(at.args).subspan(3);
    server_state& server = at.server;
    server.oom_at_script = server.wrong.out_of_memory;
    server.script_has_written = false;
    return server.scripts->run(
        sha1,
        words.first(key_count),
        words.subspan(key_count),
        [&server, client = at.client](const std::vector<std::string>& args) {
            return dispatch_from_script(server, client, args);
        }
    );
}

std::size_t key_count_of(const invocation& at) {
    const std::int64_t count = integer_of(at[2]);
    if (count > static_cast<std::int64_t>(at.size()) - 3)
        throw refusal("ERR Number of keys can't be greater than number of args");
    if (count < 0)
        throw refusal("ERR Number of keys can't be negative");
    return static_cast<std::size_t>(count);
}

reply eval(invocation& at) {
    const std::size_t keys = key_count_of(at);
    return run_script(at, at.server.scripts->load(at[1]), keys);
}

reply evalsha(invocation& at) {
    const refusal unknown("NOSCRIPT No matching script. Please use EVAL.");
    constexpr std::size_t digits = 40;
    if (at[1].size() != digits)
        throw unknown;
    const std::size_t keys = key_count_of(at);
    const std::string sha1 = lower(at[1]);
    if (!at.server.scripts->knows(sha1))
        throw unknown;
    return run_script(at, sha1, keys);
}

reply script(invocation& at) {
    auto& scripts = at.server.scripts;
    if (is_word(at[1], "LOAD") && at.size() == 3)
        return bulk(scripts->load(at[2]));
    if (is_word(at[1], "EXISTS") && at.size() >= 3) {
        std::vector<reply> known;
        for (std::size_t i = 2; i < at.size(); ++i)
            known.push_back(truth(scripts->knows(lower(at[i]))));
        return array(std::move(known));
    }
    if (is_word(at[1], "FLUSH")) {
        scripts = std::make_unique<script_engine>();
        return status("OK");
    }
    if (is_word(at[1], "KILL"))
        throw refusal("NOTBUSY No scripts in execution right now.");
    throw refusal("ERR unknown subcommand '" + at[1] + "'. Try SCRIPT HELP.");
}

}  // namespace

void add_server_commands(command_map& to) {
    command_flags any_time;
    any_time.while_loading = true;
    command_flags outside;
    outside.no_script = true;
    command_flags outside_any_time = any_time;
    outside_any_time.no_script = true;
    command_flags greeting = outside_any_time;
    greeting.while_busy = greeting.no_auth = true;
    to["TIME"] = {1, any_time, &time};
    command_flags health;
    health.asks_health = true;
    to["PING"] = {-1, health, &ping};
    to["ECHO"] = {2, reads(), &echo};
    to["SELECT"] = {2, any_time, &select};
    to["INFO"] = {-1, any_time, &info};
    to["ROLE"] = {1, outside_any_time, &role};
    to["WAIT"] = {3, outside, &wait};
    to["FLUSHALL"] = {-1, writes(), &flush};
    to["FLUSHDB"] = {-1, writes(), &flush};
    to["CONFIG"] = {-2, outside_any_time, &config};
    to["AUTH"] = {-2, greeting, &auth};
    to["HELLO"] = {-1, greeting, &hello};
    to["EVAL"] = {-3, outside, &eval};
    to["EVALSHA"] = {-3, outside, &evalsha};
    to["SCRIPT"] = {-2, outside, &script};
}

}  // namespace mortise::redis_model
