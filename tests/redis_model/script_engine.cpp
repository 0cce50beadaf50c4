// SPDX-License-Identifier: BSL-1.0
#include "redis_model/script_engine.hpp"

#include "redis_model/lua_values.hpp"
#include "redis_model/words.hpp"

#include <boost/uuid/detail/sha1.hpp>

#include <cstdio>
#include <stdexcept>
#include <utility>

#include <lua.hpp>

// Lua raises errors by a long jump, which skips destructors: code that may raise one must own
// nothing at that moment.
namespace mortise::redis_model {
namespace {

const char engine_key = 0;  // its address is the registry key of the command function
constexpr int instructions_max = 50'000'000;

script_engine::command_function& command_of(lua_State* state) {
    lua_pushlightuserdata(state, const_cast<char*>(&engine_key));
    lua_rawget(state, LUA_REGISTRYINDEX);
    void* const found = lua_touserdata(state, -1);
    lua_pop(state, 1);
    return *static_cast<script_engine::command_function*>(found);
}

/// Reads the words of a command from the stack. False if a value is no word.
bool read_words(lua_State* state, std::vector<std::string>& words) {
    const int count = lua_gettop(state);
    for (int i = 1; i <= count; ++i) {
        if (lua_type(state, i) == LUA_TNUMBER) {
            char text[64];
            std::snprintf(text, sizeof text, "%.17g", lua_tonumber(state, i));
            words.emplace_back(text);
        } else if (lua_type(state, i) == LUA_TSTRING) {
            words.push_back(lua_text(state, i));
        } else {
            return false;
        }
    }
    return true;
}

/// Leaves the reply on the stack.
/// @return whether it is an error.
bool run_command(lua_State* state) {
    std::vector<std::string> words;
    reply result;
    if (lua_gettop(state) == 0)
        result = error("ERR Please specify at least one argument for this redis lib call");
    else if (!read_words(state, words))
        result = error("ERR Lua redis lib command arguments must be strings or integers");
    else
        result = command_of(state)(words);
    push_reply(state, result);
    return result.type == reply::kind::error;
}

int call(lua_State* state) {
    return run_command(state) ? lua_error(state) : 1;
}

int protected_call(lua_State* state) {
    run_command(state);
    return 1;
}

/// The server's `pcall`: an error that is a table with `err` is returned as its text.
int lua_protected(lua_State* state) {
    luaL_checkany(state, 1);
    const int failed = lua_pcall(state, lua_gettop(state) - 1, LUA_MULTRET, 0);
    if (failed != 0 && lua_istable(state, -1)) {
        lua_getfield(state, -1, "err");
        if (lua_isstring(state, -1))
            lua_replace(state, -2);
        else
            lua_pop(state, 1);
    }
    lua_pushboolean(state, failed == 0);
    lua_insert(state, 1);
    return lua_gettop(state);
}

/// Makes a table with one field from the only argument.
int single_field(lua_State* state, const char* field) {
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING) {
        push_reply(state, error("ERR wrong number or type of arguments"));
        return 1;
    }
    lua_newtable(state);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, field);
    return 1;
}

int status_reply(lua_State* state) {
    return single_field(state, "ok");
}

// An error of one word gets the general code as a prefix.
int error_reply(lua_State* state) {
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING)
        return single_field(state, "err");
    const char* text = lua_tostring(state, 1);
    if (*text == '-')
        ++text;
    const bool one_word = std::string_view(text).find(' ') == std::string_view::npos;
    lua_newtable(state);
    lua_pushfstring(state, one_word ? "ERR %s" : "%s", text);
    lua_setfield(state, -2, "err");
    return 1;
}

int sha1_of(lua_State* state) {
    if (lua_gettop(state) != 1) {
        push_reply(state, error("ERR wrong number of arguments"));
        return lua_error(state);
    }
    std::size_t size = 0;
    const char* const text = lua_tolstring(state, 1, &size);
    char digits[41] = {};
    sha1_hex(text ? std::string_view(text, size) : "").copy(digits, 40);
    lua_pushstring(state, digits);
    return 1;
}

int read_unknown_global(lua_State* state) {
    return luaL_error(
        state,
        "Script attempted to access nonexistent global variable '%s'",
        lua_isstring(state, 2) ? lua_tostring(state, 2) : "?"
    );
}

int write_global(lua_State* state) {
    return luaL_error(state, "Attempt to modify a readonly table");
}

/// Converts any raised value to a table that also names the line.
int describe_error(lua_State* state) {
    if (!lua_istable(state, 1)) {
        lua_newtable(state);
        lua_pushfstring(state, "ERR %s", lua_isstring(state, 1) ? lua_tostring(state, 1) : "?");
        lua_setfield(state, -2, "err");
        lua_replace(state, 1);
    }
    lua_Debug where{};
    bool found = lua_getstack(state, 1, &where) != 0 && lua_getinfo(state, "nSl", &where) != 0;
    if (found && std::string_view(where.what) == "C")
        found = lua_getstack(state, 2, &where) != 0 && lua_getinfo(state, "nSl", &where) != 0;
    if (found) {
        lua_pushstring(state, where.source);
        lua_setfield(state, 1, "source");
        lua_pushinteger(state, where.currentline);
        lua_setfield(state, 1, "line");
    }
    lua_settop(state, 1);
    return 1;
}

void stop_endless(lua_State* state, lua_Debug*) {
    luaL_error(state, "the script does not end");
}

/// Removes the functions that a server does not allow to scripts.
void take_away_what_is_not_allowed(lua_State* state) {
    for (const char* const each :
         {"print",
          "dofile",
          "loadfile",
          "load",
          "module",
          "require",
          "newproxy",
          "collectgarbage",
          "gcinfo",
          "getfenv",
          "setfenv"}) {
        lua_pushnil(state);
        lua_setglobal(state, each);
    }
    // Their results differ from run to run.
    lua_getglobal(state, "math");
    for (const char* const each : {"random", "randomseed"}) {
        lua_pushnil(state);
        lua_setfield(state, -2, each);
    }
    lua_pop(state, 1);
}

void add_redis_table(lua_State* state) {
    lua_newtable(state);
    const luaL_Reg functions[] = {
        {"call", &call},
        {"pcall", &protected_call},
        {"error_reply", &error_reply},
        {"status_reply", &status_reply},
        {"sha1hex", &sha1_of},
    };
    for (const auto& each : functions) {
        lua_pushcfunction(state, each.func);
        lua_setfield(state, -2, each.name);
    }
    lua_setglobal(state, "redis");
    lua_pushcfunction(state, &lua_protected);
    lua_setglobal(state, "pcall");
}

/// Guards the globals behind the environment of scripts: reading an unknown one is an error.
/// Scripts have no globals of their own but KEYS and ARGV.
void guard_globals(lua_State* state) {
    lua_newtable(state);
    lua_pushcfunction(state, &read_unknown_global);
    lua_setfield(state, -2, "__index");
    lua_setmetatable(state, LUA_GLOBALSINDEX);
}

/// Pushes a new environment over the globals, with KEYS and ARGV. Scripts cannot write to it.
void push_environment(
    lua_State* state, std::span<const std::string> keys, std::span<const std::string> arguments
) {
    push_texts(state, keys);
    lua_setglobal(state, "KEYS");
    push_texts(state, arguments);
    lua_setglobal(state, "ARGV");
    lua_newtable(state);
    lua_newtable(state);
    lua_pushvalue(state, LUA_GLOBALSINDEX);
    lua_setfield(state, -2, "__index");
    lua_pushcfunction(state, &write_global);
    lua_setfield(state, -2, "__newindex");
    lua_setmetatable(state, -2);
}

/// Removes the first line if it is meant for the server.
std::string_view without_shebang(std::string_view script) {
    return script.starts_with("#!") ? script.substr(std::min(script.find('\n'), script.size()))
                                    : script;
}

}  // namespace

std::string sha1_hex(std::string_view of) {
    boost::uuids::detail::sha1 hash;
    hash.process_bytes(of.data(), of.size());
    boost::uuids::detail::sha1::digest_type digest{};
    hash.get_digest(digest);
    std::string digits;
    for (const auto each : digest) {
        char part[9];
        if constexpr (sizeof each == 1)
            std::snprintf(part, sizeof part, "%02x", static_cast<unsigned>(each));
        else
            std::snprintf(part, sizeof part, "%08x", static_cast<unsigned>(each));
        digits += part;
    }
    return digits;
}

void script_engine::closer::operator()(lua_State* state) const {
    lua_close(state);
}

script_engine::script_engine() : state_(luaL_newstate()) {
    lua_State* const state = state_.get();
    if (!state)
        throw std::bad_alloc();
    for (const auto& [name, open] :
         {std::pair{"", &luaopen_base},
          {LUA_STRLIBNAME, &luaopen_string},
          {LUA_TABLIBNAME, &luaopen_table},
          {LUA_MATHLIBNAME, &luaopen_math}}) {
        lua_pushcfunction(state, open);
        lua_pushstring(state, name);
        lua_call(state, 1, 0);
    }
    take_away_what_is_not_allowed(state);
    add_redis_table(state);
    guard_globals(state);
    lua_pushlightuserdata(state, const_cast<char*>(&engine_key));
    lua_pushlightuserdata(state, &command_);
    lua_rawset(state, LUA_REGISTRYINDEX);
}

script_engine::~script_engine() = default;

std::string script_engine::load(const std::string& script) {
    const std::string sha1 = sha1_hex(script);
    if (knows(sha1))
        return sha1;
    lua_State* const state = state_.get();
    const auto text = without_shebang(script);
    if (luaL_loadbuffer(state, text.data(), text.size(), "@user_script") != 0) {
        const std::string why = lua_text(state, -1);
        lua_settop(state, 0);
        throw refusal("ERR Error compiling script (new function): " + why);
    }
    functions_[sha1] = luaL_ref(state, LUA_REGISTRYINDEX);
    return sha1;
}

reply script_engine::run(
    const std::string& sha1,
    std::span<const std::string> keys,
    std::span<const std::string> arguments,
    command_function command
) {
    lua_State* const state = state_.get();
    command_ = std::move(command);
    lua_settop(state, 0);
    lua_pushcfunction(state, &describe_error);
    lua_rawgeti(state, LUA_REGISTRYINDEX, functions_.at(sha1));
    push_environment(state, keys, arguments);
    lua_setfenv(state, -2);
    lua_sethook(state, &stop_endless, LUA_MASKCOUNT, instructions_max);
    const bool failed = lua_pcall(state, 0, 1, 1) != 0;
    reply result = to_reply(state, -1);
    if (failed && lua_istable(state, -1))
        result = error(result.text + place_of_error(state, -1, sha1));
    lua_settop(state, 0);
    command_ = nullptr;
    return result;
}

}  // namespace mortise::redis_model
