// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/file_names.hpp"

#include "sqlite/failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace mortise::store_detail {

using sqlite_detail::failure_of_call;

namespace {

constexpr int links_max = 40;  // what Linux itself follows

// Since Linux 5.8; older headers do not name it.
constexpr std::uint64_t is_mount_root = 0x2000;

}  // namespace

std::string followed_links(const std::string& path) {
    std::filesystem::path at = path;
    for (int links = 0;; ++links) {
        std::error_code is_no_link;
        const auto target = std::filesystem::read_symlink(at, is_no_link);
        if (is_no_link)
            break;
        if (links == links_max)
            throw failure_of_call(ELOOP, "following symbolic links", path);
        at = at.parent_path() / target;  // an absolute target replaces the folder
    }
    // Resolves the links of the folder, too. A missing folder is an error of whoever opens the
    // file.
    std::error_code missing;
    const auto folder = std::filesystem::canonical(at.parent_path(), missing);
    return missing ? at.string() : (folder / at.filename()).string();
}

file_names names_of(const std::string& path) noexcept {
    struct statx found {};
    if (::statx(AT_FDCWD, path.c_str(), 0, STATX_NLINK, &found) != 0)
        return file_names::one;
    if ((found.stx_attributes_mask & found.stx_attributes & is_mount_root) != 0)
        return file_names::own_mount;
    return found.stx_nlink > 1 ? file_names::several : file_names::one;
}

}  // namespace mortise::store_detail
