// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_LUA_VALUES_HPP
#define MORTISE_TESTS_REDIS_MODEL_LUA_VALUES_HPP

#include "redis_model/reply.hpp"

#include <span>
#include <string>

struct lua_State;

namespace mortise::redis_model {

/// The string, or the number as a string, at that index of the stack.
std::string lua_text(lua_State* state, int index);

void push_texts(lua_State* state, std::span<const std::string> texts);

/// Pushes a reply in the form that a script sees.
void push_reply(lua_State* state, const reply& value);

/// Converts a script's result to the form that a client sees.
reply to_reply(lua_State* state, int index);

/// The text that follows an error's message: " script: ..., on ...:line."; may be empty.
std::string place_of_error(lua_State* state, int index, const std::string& script);

}  // namespace mortise::redis_model

#endif
