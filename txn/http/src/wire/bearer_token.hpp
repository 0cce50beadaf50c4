// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_BEARER_TOKEN_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_BEARER_TOKEN_HPP

#include <cstddef>
#include <filesystem>
#include <string>

namespace mortise::txn::http {

/// Returns the token of a configuration: the given one, or the one in the file.
/// @throws error (`bad_config`) for `name`, which never shows the token, if it is given twice or
///         not at all, has not `size_min` to 1,024 visible characters, or the file cannot be read.
std::string bearer_token(
    const std::string& given,
    const std::filesystem::path& file,
    const std::string& name,
    std::size_t size_min
);

}  // namespace mortise::txn::http

#endif
