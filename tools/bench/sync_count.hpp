// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SYNC_COUNT_HPP
#define MORTISE_TOOLS_BENCH_SYNC_COUNT_HPP

#include <atomic>
#include <cstdint>
#include <memory>

struct sqlite3_vfs;

namespace mortise::tool {

/// While it lives, counts how often SQLite asks this process to wait for the disk (fsync,
/// fdatasync), for all databases that are opened meanwhile without a file system layer of their
/// own. One at a time; it outlives the databases.
class sync_count {
public:
    /// @throws failure if SQLite does not accept it.
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
