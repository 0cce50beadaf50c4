// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_DATABASE_FAILURE_HPP
#define MORTISE_TOOLS_DATABASE_FAILURE_HPP

#include "failure.hpp"

#include <string>

namespace mortise::tool {

/// Of what the library threw that works on a message table or an inbox. Where it names no value
/// this is `value`.
failure database_failure(
    const boost::system::system_error& thrown, const std::string& database, std::string value = {}
);

}  // namespace mortise::tool

#endif
