// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_HOST_METERS_HPP
#define MORTISE_TOOLS_BENCH_HOST_METERS_HPP

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

struct sqlite3_vfs;

namespace mortise::tool {

/// Counts how often SQLite makes this process wait for the disk (fsync, fdatasync). Counts
/// databases that are opened while this object lives and use the default file system layer. Only
/// one may exist at a time; it must outlive the databases.
class sync_count {
public:
    /// @throws failure if SQLite refuses the layer.
    sync_count();
    ~sync_count();
    sync_count(const sync_count&) = delete;
    sync_count& operator=(const sync_count&) = delete;

    std::uint64_t now() const noexcept { return *count_; }

private:
    std::unique_ptr<std::atomic<std::uint64_t>> count_;
    std::unique_ptr<sqlite3_vfs> layer_;
};

/// How far the peak memory of this process rises above its memory at construction. Nothing if the
/// kernel does not tell.
class peak_memory {
public:
    peak_memory();
    std::optional<std::uint64_t> growth_bytes() const;

private:
    std::optional<std::uint64_t> before_;
};

/// The time of an fdatasync after a small append in `folder`: the median, in microseconds.
double fsync_us(const std::filesystem::path& folder);

}  // namespace mortise::tool

#endif
