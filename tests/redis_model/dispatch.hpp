// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_DISPATCH_HPP
#define MORTISE_TESTS_REDIS_MODEL_DISPATCH_HPP

#include "redis_model/reply.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::redis_model {

class server_state;

/// Runs a command unless a rule forbids it.
reply dispatch(server_state& server, std::uint64_t client, const std::vector<std::string>& args);

/// The same for a command of the running script.
reply dispatch_from_script(
    server_state& server, std::uint64_t client, const std::vector<std::string>& args
);

}  // namespace mortise::redis_model

#endif
