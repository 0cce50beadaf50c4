// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_FILE_IDENTITY_HPP
#define MORTISE_SQLITE_FILE_IDENTITY_HPP

#include <cstdint>

namespace mortise::sqlite_detail {

/// The identity of a file, whatever its names are.
struct file_identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const file_identity&, const file_identity&) noexcept = default;
};

/// Where a name leads to now.
enum class whereabouts : std::uint8_t {
    same,
    other,    ///< To another file, or to none.
    unknown,  ///< The system would not say.
};

/// The identity of an open file; zeros if the system refuses.
file_identity identity_of(int fd) noexcept;

/// Where `name` leads from `folder` (from the current folder if that is `AT_FDCWD`).
whereabouts find_file(int folder, const char* name, const file_identity& wanted) noexcept;

/// Combines two answers that must both be `same`: the first that is not.
constexpr whereabouts both(whereabouts one, whereabouts other) noexcept {
    return one == whereabouts::same ? other : one;
}

}  // namespace mortise::sqlite_detail

#endif
