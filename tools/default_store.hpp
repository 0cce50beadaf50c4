// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_DEFAULT_STORE_HPP
#define MORTISE_TOOLS_DEFAULT_STORE_HPP

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// The URL of the SQLite store at `path`.
std::string sqlite_url(const std::filesystem::path& path);

/// The path in the URL of an SQLite store; nothing if it is the URL of another store.
std::optional<std::filesystem::path> sqlite_path(std::string_view url);

/// The store of the user: `locks.db` in `$XDG_STATE_HOME/mortise`, else in
/// `~/.local/state/mortise`.
/// @throws failure if there is no such place.
std::string default_store_url();

/// Makes the folder of the user's store, which only its owner may enter, if it is not there.
/// @throws failure if it cannot be made.
void make_default_folder();

}  // namespace mortise::tool

#endif
