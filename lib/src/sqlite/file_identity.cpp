// SPDX-License-Identifier: BSL-1.0
#include "sqlite/file_identity.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace mortise::sqlite_detail {

file_identity identity_of(int fd) noexcept {
    struct stat found {};
    if (::fstat(fd, &found) != 0)
        return {};
    return {found.st_dev, found.st_ino};
}

whereabouts find_file(int folder, const char* name, const file_identity& wanted) noexcept {
    struct stat found {};
    if (::fstatat(folder, name, &found, 0) != 0)
        return errno == ENOENT || errno == ENOTDIR ? whereabouts::other : whereabouts::unknown;
    const file_identity there{found.st_dev, found.st_ino};
    return there == wanted ? whereabouts::same : whereabouts::other;
}

}  // namespace mortise::sqlite_detail
