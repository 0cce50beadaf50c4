// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_COMMAND_HPP
#define MORTISE_TESTS_REDIS_MODEL_COMMAND_HPP

#include "redis_model/keyspace.hpp"
#include "redis_model/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis_model {

class server_state;

/// A command that runs.
struct invocation {
    server_state& server;
    keyspace& data;
    const std::vector<std::string>& args;
    std::uint64_t client;
    bool in_script;

    const std::string& operator[](std::size_t index) const { return args[index]; }
    std::size_t size() const noexcept { return args.size(); }
};

/// The conditions that a server checks before it runs a command.
struct command_flags {
    bool write : 1 = false;
    bool deny_oom : 1 = false;  ///< Refused when memory is short.
    bool no_script : 1 = false;
    bool while_loading : 1 = false;
    bool while_busy : 1 = false;
    bool asks_health : 1 = false;  ///< Refused where writes are refused.
    bool no_auth : 1 = false;      ///< Allowed to clients that have not logged in.
};

struct command {
    int arity;  ///< The number of words, with the name; negative: at least that many.
    command_flags flags;
    reply (*run)(invocation&);
};

/// The commands by their names in capitals.
using command_map = std::map<std::string, command, std::less<>>;

constexpr command_flags reads() {
    return {};
}
constexpr command_flags writes() {
    command_flags flags;
    flags.write = true;
    return flags;
}
constexpr command_flags grows() {
    command_flags flags = writes();
    flags.deny_oom = true;
    return flags;
}

void add_text_commands(command_map& to);
void add_hash_commands(command_map& to);
void add_set_commands(command_map& to);
void add_sorted_set_commands(command_map& to);
void add_server_commands(command_map& to);
void add_channel_commands(command_map& to);

/// Finds a command by name, in upper or lower case; null if there is none.
const command* find_command(std::string_view name);

}  // namespace mortise::redis_model

#endif
