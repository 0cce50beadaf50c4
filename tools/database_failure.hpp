// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_DATABASE_FAILURE_HPP
#define MORTISE_TOOLS_DATABASE_FAILURE_HPP

#include "failure.hpp"

#include <string>

namespace mortise::tool {

/// Makes a failure from an error of a message table or an inbox. `value` stands for the value that
/// is wrong if the error names none.
failure database_failure(
    const boost::system::system_error& thrown, const std::string& database, std::string value = {}
);

}  // namespace mortise::tool

#endif
