// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_LUA_VALUES_HPP
#define MORTISE_TESTS_REDIS_MODEL_LUA_VALUES_HPP

#include "redis_model/reply.hpp"

#include <span>
#include <string>

struct lua_State;

namespace mortise::redis_model {

/// The string, or the number as a string, at that place of the stack.
std::string lua_text(lua_State* state, int index);

void push_texts(lua_State* state, std::span<const std::string> texts);

/// As a script sees what a command says.
void push_reply(lua_State* state, const reply& said);

/// As a client sees what a script returns.
reply to_reply(lua_State* state, int index);

/// What is told of an error beside its text: " script: ..., on ...:line."; or nothing.
std::string place_of_error(lua_State* state, int index, const std::string& script);

}  // namespace mortise::redis_model

#endif
