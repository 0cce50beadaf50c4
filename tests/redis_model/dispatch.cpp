// SPDX-License-Identifier: BSL-1.0
#include "redis_model/dispatch.hpp"

#include "redis_model/command.hpp"
#include "redis_model/server_state.hpp"
#include "redis_model/words.hpp"

#include <algorithm>

namespace mortise::redis_model {
namespace {

constexpr const char* oom = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr const char* read_only = "READONLY You can't write against a read only replica.";
constexpr const char* disk_failed =
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    "disk. Commands that may modify the data set are disabled, because this instance is configured "
    "to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error "
    "option). Please check the Redis logs for details about the RDB error.";

bool fits(int arity, std::size_t words) {
    const auto count = static_cast<int>(words);
    return arity < 0 ? count >= -arity : count == arity;
}

void refuse_unknown(const std::vector<std::string>& args) {
    std::string text =
        "ERR unknown command '" + args[0].substr(0, 128) + "', with args beginning with: ";
    for (std::size_t i = 1; i < args.size(); ++i)
        text += "'" + args[i].substr(0, 128) + "' ";
    throw refusal(text);
}

/// Whether a channel is named that the user may not use.
bool names_forbidden_channel(const conditions& wrong, const std::vector<std::string>& args) {
    const bool publishes = is_word(args[0], "PUBLISH");
    if (!publishes && !is_word(args[0], "SUBSCRIBE"))
        return false;
    const auto end = publishes ? args.begin() + 2 : args.end();
    return std::any_of(args.begin() + 1, end, [&](const std::string& each) {
        return wrong.forbidden_channels.contains(each);
    });
}

void check_rights(
    const server_state& server,
    std::uint64_t client,
    const command& entry,
    const std::vector<std::string>& args
) {
    const conditions& wrong = server.wrong;
    if (!wrong.password.empty() && !server.clients.at(client).trusted && !entry.flags.no_auth)
        throw refusal("NOAUTH Authentication required.");
    if (entry.flags.no_auth)
        return;
    const std::string name = lower(args[0]);
    if (wrong.forbidden_commands.contains(name))
        throw refusal("NOPERM this user has no permissions to run the '" + name + "' command");
    if (names_forbidden_channel(wrong, args))
        throw refusal("NOPERM this user has no permissions to access one of the channels used as "
                      "arguments");
}

void check_condition(const server_state& server, const command& entry) {
    const conditions& wrong = server.wrong;
    if (wrong.out_of_memory && entry.flags.deny_oom)
        throw refusal(oom);
    if (wrong.disk_failed && (entry.flags.write || entry.flags.asks_health))
        throw refusal(disk_failed);
    if (wrong.read_only && entry.flags.write)
        throw refusal(read_only);
    if (wrong.loading && !entry.flags.while_loading)
        throw refusal("LOADING Redis is loading the dataset in memory");
    if (wrong.busy && !entry.flags.while_busy)
        throw refusal("BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
                      "SHUTDOWN NOSAVE.");
}

void check_in_script(
    const server_state& server, const command& entry, const std::vector<std::string>& args
) {
    const conditions& wrong = server.wrong;
    if (entry.flags.no_script)
        throw refusal("ERR This Redis command is not allowed from script");
    if (wrong.forbidden_commands.contains(lower(args[0])))
        throw refusal("ERR The user executing the script can't run this command or subcommand");
    if (names_forbidden_channel(wrong, args))
        throw refusal("ERR The user executing the script can't publish to the channel mentioned in "
                      "the command");
    if (wrong.disk_failed && entry.flags.write)
        throw refusal(disk_failed);
    if (wrong.read_only && entry.flags.write)
        throw refusal(read_only);
    // A script that has written runs to its end.
    if (server.oom_at_script && !server.script_has_written && entry.flags.deny_oom)
        throw refusal(oom);
}

reply run(
    server_state& server,
    std::uint64_t client,
    const command& entry,
    const std::vector<std::string>& args,
    bool in_script
) {
    const std::string name = lower(args[0]);
    ++server.counts.calls[name];
    invocation call{server, server.data, args, client, in_script};
    try {
        reply result = entry.run(call);
        if (result.type == reply::kind::error)
            ++server.counts.failed[name];
        return result;
    } catch (const refusal& why) {
        ++server.counts.failed[name];
        return error(why.text());
    }
}

command_map all_commands() {
    command_map commands;
    add_text_commands(commands);
    add_hash_commands(commands);
    add_set_commands(commands);
    add_sorted_set_commands(commands);
    add_server_commands(commands);
    add_channel_commands(commands);
    return commands;
}

}  // namespace

const command* find_command(std::string_view name) {
    static const command_map commands = all_commands();
    const auto found = commands.find(upper(name));
    return found == commands.end() ? nullptr : &found->second;
}

reply dispatch(server_state& server, std::uint64_t client, const std::vector<std::string>& args) {
    ++server.counts.commands;
    try {
        const command* const entry = find_command(args[0]);
        if (!entry)
            refuse_unknown(args);
        if (!fits(entry->arity, args.size()))
            throw refusal("ERR wrong number of arguments for '" + lower(args[0]) + "' command");
        check_rights(server, client, *entry, args);
        check_condition(server, *entry);
        return run(server, client, *entry, args, false);
    } catch (const refusal& why) {
        return error(why.text());
    }
}

reply dispatch_from_script(
    server_state& server, std::uint64_t client, const std::vector<std::string>& args
) {
    try {
        const command* const entry = find_command(args[0]);
        if (!entry)
            throw refusal("ERR Unknown Redis command called from script");
        if (!fits(entry->arity, args.size()))
            throw refusal("ERR Wrong number of args calling Redis command from script");
        check_in_script(server, *entry, args);
        server.script_has_written = server.script_has_written || entry->flags.write;
        return run(server, client, *entry, args, true);
    } catch (const refusal& why) {
        return error(why.text());
    }
}

}  // namespace mortise::redis_model
