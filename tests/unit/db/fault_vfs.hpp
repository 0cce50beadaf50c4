// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_DB_FAULT_VFS_HPP
#define MORTISE_TESTS_UNIT_DB_FAULT_VFS_HPP

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

struct sqlite3_vfs;

namespace mortise::test {

/// SQLite's file system with a counter and a switch at each place where a disk can fail. Registered
/// under `name()` while it lives; all databases that use it must be closed before.
class fault_vfs {
public:
    fault_vfs();
    ~fault_vfs();
    fault_vfs(const fault_vfs&) = delete;
    fault_vfs& operator=(const fault_vfs&) = delete;

    const std::string& name() const { return name_; }

    // Counted for the write-ahead log, and for the database itself.
    std::atomic<int> log_syncs{0};
    std::atomic<int> database_syncs{0};
    std::atomic<int> log_writes{0};

    // Result codes to give instead of doing it; zero: do it.
    std::atomic<int> log_sync_result{0};
    std::atomic<int> log_write_result{0};
    std::atomic<int> database_sync_result{0};

    /// From now on whoever syncs the log waits until `release_syncs`.
    void hold_syncs();
    void release_syncs();
    /// Until somebody waits so.
    void wait_for_held_sync();

    // For the files.
    int sync_log();

private:
    std::string name_;
    std::unique_ptr<sqlite3_vfs> vfs_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    int waiting_ = 0;
};

}  // namespace mortise::test

#endif
