// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_FILES_HPP
#define MORTISE_TOOLS_BENCH_BENCH_FILES_HPP

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::tool {

/// A database file that is removed at the end of the scope, together with its side files.
class passing_file {
public:
    explicit passing_file(std::filesystem::path path) : path_(std::move(path)) {}
    ~passing_file() {
        std::error_code ignored;
        for (const char* suffix : {"", "-wal", "-shm", "-mark", ".checkpoint", ".bell"})
            std::filesystem::remove_all(path_.native() + suffix, ignored);
    }
    passing_file(const passing_file&) = delete;
    passing_file& operator=(const passing_file&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

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

/// The name of a database that only this process uses.
inline std::filesystem::path
bench_file(const std::filesystem::path& folder, const std::string& name) {
    return folder / ("mortise-bench-" + std::to_string(::getpid()) + '-' + name + ".db");
}

}  // namespace mortise::tool

#endif
