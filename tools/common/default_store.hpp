// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_DEFAULT_STORE_HPP
#define MORTISE_TOOLS_COMMON_DEFAULT_STORE_HPP

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// The URL of the SQLite store at `path`.
std::string sqlite_url(const std::filesystem::path& path);

/// The path in the URL of an SQLite store, or nothing if the URL names another kind of store.
std::optional<std::filesystem::path> sqlite_path(std::string_view url);

/// The user's store: `locks.db` in `$XDG_STATE_HOME/mortise`, else in `~/.local/state/mortise`.
/// @throws failure if neither folder can be named.
std::string default_store_url();

/// Creates the folder of the user's store if it does not exist. Only its owner may enter it.
/// @throws failure if it cannot be created.
void make_default_folder();

}  // namespace mortise::tool

#endif
