// SPDX-License-Identifier: BSL-1.0
#include "redis_model/lua_values.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <lua.hpp>

namespace mortise::redis_model {
namespace {

constexpr int depth_max = 200;  // tables nested in tables

void push_text(lua_State* state, const std::string& text) {
    lua_pushlstring(state, text.data(), text.size());
}

void push_field(lua_State* state, const char* name, const std::string& text) {
    lua_createtable(state, 0, 1);
    push_text(state, text);
    lua_setfield(state, -2, name);
}

/// Reads the text in a field of the table at `index`. False if there is none.
bool read_field(lua_State* state, int index, const char* name, std::string& text) {
    lua_pushvalue(state, index);
    lua_pushstring(state, name);
    lua_rawget(state, -2);
    const bool found = lua_type(state, -1) == LUA_TSTRING;
    if (found)
        text = lua_text(state, -1);
    lua_pop(state, 2);
    return found;
}

/// Truncates as the processors of servers do, even if the value is no number or too large.
std::int64_t truncated(lua_Number number) {
    constexpr lua_Number end = 9223372036854775808.0;  // 2^63
    if (number >= -end && number < end)
        return static_cast<std::int64_t>(number);
    return std::numeric_limits<std::int64_t>::min();
}

reply table_reply(lua_State* state, int index, int depth);

reply any_reply(lua_State* state, int index, int depth) {
    switch (lua_type(state, index)) {
    case LUA_TSTRING:
        return bulk(lua_text(state, index));
    case LUA_TBOOLEAN:
        return lua_toboolean(state, index) != 0 ? integer(1) : no_value();
    case LUA_TNUMBER:
        return integer(truncated(lua_tonumber(state, index)));
    case LUA_TTABLE:
        return table_reply(state, index, depth);
    default:
        return no_value();
    }
}

/// Makes one line of a text: a status or error must not contain line ends.
std::string in_one_line(std::string text) {
    for (char& each : text) {
        if (each == '\r' || each == '\n')
            each = ' ';
    }
    return text;
}

reply table_reply(lua_State* state, int index, int depth) {
    if (depth > depth_max || lua_checkstack(state, 4) == 0)
        return error("ERR reached lua stack limit");
    std::string text;
    if (read_field(state, index, "err", text))
        return error(in_one_line(std::move(text)));
    if (read_field(state, index, "ok", text))
        return status(in_one_line(std::move(text)));
    std::vector<reply> items;
    lua_pushvalue(state, index);
    for (int i = 1;; ++i) {
        lua_rawgeti(state, -1, i);
        if (lua_isnil(state, -1))
            break;
        items.push_back(any_reply(state, lua_gettop(state), depth + 1));
        lua_pop(state, 1);
    }
    lua_pop(state, 2);
    return array(std::move(items));
}

}  // namespace

std::string lua_text(lua_State* state, int index) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(state, index, &size);
    return text ? std::string(text, size) : std::string();
}

void push_texts(lua_State* state, std::span<const std::string> texts) {
    lua_newtable(state);
    int at = 0;
    for (const auto& each : texts) {
        push_text(state, each);
        lua_rawseti(state, -2, ++at);
    }
}

void push_reply(lua_State* state, const reply& value) {
    lua_checkstack(state, 4);
    switch (value.type) {
    case reply::kind::null:
        lua_pushboolean(state, 0);
        break;
    case reply::kind::integer:
        lua_pushnumber(state, static_cast<lua_Number>(value.integer));
        break;
    case reply::kind::bulk:
        push_text(state, value.text);
        break;
    case reply::kind::status:
        push_field(state, "ok", value.text);
        break;
    case reply::kind::error:
        push_field(state, "err", value.text);
        break;
    case reply::kind::array:
        lua_createtable(state, static_cast<int>(value.items.size()), 0);
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            push_reply(state, value.items[i]);
            lua_rawseti(state, -2, static_cast<int>(i + 1));
        }
        break;
    }
}

reply to_reply(lua_State* state, int index) {
    return any_reply(state, index < 0 ? lua_gettop(state) + index + 1 : index, 0);
}

std::string place_of_error(lua_State* state, int index, const std::string& script) {
    std::string source;
    if (!read_field(state, index < 0 ? lua_gettop(state) + index + 1 : index, "source", source))
        return {};
    lua_getfield(state, index, "line");
    const std::string line = lua_text(state, -1);
    lua_pop(state, 1);
    return " script: " + script + ", on " + source + ":" + line + ".";
}

}  // namespace mortise::redis_model
