// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_SECRET_HPP
#define MORTISE_DETAIL_SECRET_HPP

#include <filesystem>
#include <string>
#include <string_view>

namespace mortise::detail {

/// The secret that a file holds, without the end of its only line.
/// @throws error (`bad_config`) that names the file, and never what it holds.
std::string secret_in_file(const std::filesystem::path& file);

/// The text with `***` wherever the secret stands in it. An empty secret stands nowhere.
std::string without_secret(std::string text, std::string_view secret);

}  // namespace mortise::detail

#endif
