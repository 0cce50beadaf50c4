// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_FILE_NAMES_HPP
#define MORTISE_STORE_SQLITE_FILE_NAMES_HPP

#include <string>

namespace mortise::store_detail {

/// Follows symbolic links to the file that they lead to, which need not exist. SQLite names its log
/// after that file, so the side folder must be named after it, too.
/// @throws error if the links lead in a circle.
std::string followed_links(const std::string& path);

/// What is known of a file's other names.
enum class file_names : unsigned char {
    one,        ///< It has this name only, or does not exist.
    several,    ///< It has hard links.
    own_mount,  ///< It is mounted by itself, so that its folder is not the one of the file.
};

file_names names_of(const std::string& path) noexcept;

}  // namespace mortise::store_detail

#endif
