// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_SCRATCH_FOLDER_HPP
#define MORTISE_TESTS_SUPPORT_SCRATCH_FOLDER_HPP

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace mortise::test {

/// A new folder, removed at the end with all that lies in it.
class scratch_folder {
public:
    enum class place {
        disk,
        memory,  ///< If the host has that: a sync costs nothing there.
    };

    explicit scratch_folder(place where = place::disk) {
        const std::filesystem::path memory = "/dev/shm";
        const bool in_memory = where == place::memory && ::access(memory.c_str(), W_OK) == 0;
        const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
        std::string pattern = parent / "mortise-test-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), pattern);
        path_ = pattern;
    }
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace mortise::test

#endif
