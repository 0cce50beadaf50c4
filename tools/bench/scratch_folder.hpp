// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SCRATCH_FOLDER_HPP
#define MORTISE_TOOLS_BENCH_SCRATCH_FOLDER_HPP

#include <filesystem>

namespace mortise::tool {

/// A new temporary folder, removed with its contents at the end of the scope.
class scratch_folder {
public:
    /// @throws failure if it cannot be created.
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace mortise::tool

#endif
