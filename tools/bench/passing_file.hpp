// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_PASSING_FILE_HPP
#define MORTISE_TOOLS_BENCH_PASSING_FILE_HPP

#include <filesystem>
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

}  // namespace mortise::tool

#endif
