// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SERVER_INFO_HPP
#define MORTISE_TESTS_REDIS_MODEL_SERVER_INFO_HPP

#include <span>
#include <string>

namespace mortise::redis_model {

class server_state;

/// The text of INFO: the named sections, or the usual ones if none is named.
std::string server_info(const server_state& of, std::span<const std::string> sections);

}  // namespace mortise::redis_model

#endif
