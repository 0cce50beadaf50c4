// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_SCRATCH_FOLDER_HPP
#define MORTISE_TESTS_FUZZ_SCRATCH_FOLDER_HPP

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace mortise::fuzz {

/// A folder of this process, in memory where the host has that, removed at the end.
class scratch_folder {
public:
    scratch_folder() {
        const std::filesystem::path memory = "/dev/shm";
        const bool in_memory = ::access(memory.c_str(), W_OK) == 0;
        const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
        std::string pattern = parent / "mortise-fuzz-XXXXXX";
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

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace mortise::fuzz

#endif
