// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SCRIPT_ENGINE_HPP
#define MORTISE_TESTS_REDIS_MODEL_SCRIPT_ENGINE_HPP

#include "redis_model/reply.hpp"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct lua_State;

namespace mortise::redis_model {

/// Returns 40 hexadecimal digits.
std::string sha1_hex(std::string_view of);

/// Runs scripts as a server does: Lua 5.1, values converted to RESP2 replies and back, and only the
/// globals that the server gives.
class script_engine {
public:
    /// Runs a command for a script.
    using command_function = std::function<reply(const std::vector<std::string>& words)>;

    script_engine();
    ~script_engine();
    script_engine(const script_engine&) = delete;
    script_engine& operator=(const script_engine&) = delete;

    /// Compiles a script unless it is known.
    /// @return its SHA-1.
    /// @throws refusal if it does not compile.
    std::string load(const std::string& script);
    bool knows(const std::string& sha1) const { return functions_.contains(sha1); }

    /// Runs a known script.
    reply
    run(const std::string& sha1,
        std::span<const std::string> keys,
        std::span<const std::string> arguments,
        command_function command);

private:
    struct closer {
        void operator()(lua_State* state) const;
    };

    std::unique_ptr<lua_State, closer> state_;
    command_function command_;
    std::map<std::string, int> functions_;  // references in the registry
};

}  // namespace mortise::redis_model

#endif
