// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_SECRET_HPP
#define MORTISE_DETAIL_SECRET_HPP

#include <filesystem>
#include <string>
#include <string_view>

namespace mortise::detail {

/// The secret in a file, without the line breaks at its end.
/// @throws error (`bad_config`) that names the file, and never its content, if it cannot be read,
///         is empty, or has several lines.
std::string secret_in_file(const std::filesystem::path& file);

/// The text with each occurrence of the secret replaced by `***`. An empty secret occurs nowhere.
std::string without_secret(std::string text, std::string_view secret);

}  // namespace mortise::detail

#endif
