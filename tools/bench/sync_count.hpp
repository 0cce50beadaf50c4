// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SYNC_COUNT_HPP
#define MORTISE_TOOLS_BENCH_SYNC_COUNT_HPP

#include <atomic>
#include <cstdint>
#include <memory>

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

}  // namespace mortise::tool

#endif
