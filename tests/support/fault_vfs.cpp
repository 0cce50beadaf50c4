// SPDX-License-Identifier: BSL-1.0
#include "support/fault_vfs.hpp"

#include "mortise/coro/assert.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

namespace mortise::test {
namespace {

/// Stands before the real file in the memory that SQLite gives for both.
struct shim {
    sqlite3_file base;
    fault_vfs* owner;
    bool log;
    bool database;
    const char* path;  // SQLite keeps it as long as the file is open
};
constexpr int real_offset = (sizeof(shim) + 15) / 16 * 16;

shim& self_of(sqlite3_file* file) {
    return *reinterpret_cast<shim*>(file);
}

sqlite3_file* real_of(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + real_offset);
}

/// Passes a method on to the real file.
template <auto Method>
struct forward;
template <
    class Result,
    class... Args,
    Result (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct forward<Method> {
    static Result call(sqlite3_file* file, Args... args) {
        sqlite3_file* const real = real_of(file);
        return (real->pMethods->*Method)(real, args...);
    }
};

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    shim& self = self_of(file);
    if (self.log || self.database) {
        if (const int code = self.owner->next_result())
            return code;
        self.owner->remember(self.path, offset, static_cast<std::size_t>(size));
    }
    if (self.log) {
        ++self.owner->log_writes;
        if (const int code = self.owner->log_write_result)
            return code;
        self.owner->log_bytes_since_failed_sync += static_cast<std::size_t>(size);
    }
    return forward<&sqlite3_io_methods::xWrite>::call(file, data, size, offset);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
    shim& self = self_of(file);
    if (self.log || self.database) {
        if (const int code = self.owner->next_result())
            return code;
        self.owner->remember(self.path, size, std::string::npos);
    }
    return forward<&sqlite3_io_methods::xTruncate>::call(file, size);
}

int sync(sqlite3_file* file, int flags) {
    shim& self = self_of(file);
    if (self.log || self.database) {
        if (const int code = self.owner->next_result()) {
            if (self.log)
                self.owner->log_bytes_since_failed_sync = 0;
            return code;
        }
    }
    if (self.log) {
        if (const int code = self.owner->sync_log()) {
            self.owner->log_bytes_since_failed_sync = 0;
            return code;
        }
    }
    if (self.database) {
        ++self.owner->database_syncs;
        if (const int code = self.owner->database_sync_result)
            return code;
    }
    const int code = forward<&sqlite3_io_methods::xSync>::call(file, flags);
    if (code == SQLITE_OK && (self.log || self.database))
        self.owner->forget(self.path);
    return code;
}

int lock(sqlite3_file* file, int level) {
    if (const int code = self_of(file).owner->lock_result)
        return code;
    return forward<&sqlite3_io_methods::xLock>::call(file, level);
}

int lock_index(sqlite3_file* file, int offset, int count, int flags) {
    const int code = self_of(file).owner->lock_result;
    if (code != SQLITE_OK && (flags & SQLITE_SHM_LOCK) != 0)
        return code;
    return forward<&sqlite3_io_methods::xShmLock>::call(file, offset, count, flags);
}

const sqlite3_io_methods methods = {
    3,
    forward<&sqlite3_io_methods::xClose>::call,
    forward<&sqlite3_io_methods::xRead>::call,
    write,
    truncate,
    sync,
    forward<&sqlite3_io_methods::xFileSize>::call,
    lock,
    forward<&sqlite3_io_methods::xUnlock>::call,
    forward<&sqlite3_io_methods::xCheckReservedLock>::call,
    forward<&sqlite3_io_methods::xFileControl>::call,
    forward<&sqlite3_io_methods::xSectorSize>::call,
    forward<&sqlite3_io_methods::xDeviceCharacteristics>::call,
    forward<&sqlite3_io_methods::xShmMap>::call,
    lock_index,
    forward<&sqlite3_io_methods::xShmBarrier>::call,
    forward<&sqlite3_io_methods::xShmUnmap>::call,
    forward<&sqlite3_io_methods::xFetch>::call,
    forward<&sqlite3_io_methods::xUnfetch>::call,
};

sqlite3_vfs* real_vfs() {
    return ::sqlite3_vfs_find(nullptr);
}

int sleep(sqlite3_vfs* vfs, int duration_us) {
    auto& self = *static_cast<fault_vfs*>(vfs->pAppData);
    ++self.slept;
    if (!self.sleeps)
        return duration_us;
    return real_vfs()->xSleep(real_vfs(), duration_us);
}

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    auto* const self = new (file) shim{};
    self->owner = static_cast<fault_vfs*>(vfs->pAppData);
    self->log = (flags & SQLITE_OPEN_WAL) != 0;
    self->database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    self->path = path;
    ++self->owner->opens_under_way;
    if (self->database)
        self->owner->before_open();
    const int code = real_vfs()->xOpen(real_vfs(), path, real_of(file), flags, out);
    self->base.pMethods = code == SQLITE_OK ? &methods : nullptr;
    --self->owner->opens_under_way;  // the last use of the owner, if nobody has the file
    return code;
}

// Forgets unsynced writes of a deleted file: another file may get its name.
int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    const int code = real_vfs()->xDelete(real_vfs(), path, sync_folder);
    if (code == SQLITE_OK)
        static_cast<fault_vfs*>(vfs->pAppData)->forget(path);
    return code;
}

}  // namespace

fault_vfs::fault_vfs() : vfs_(std::make_unique<sqlite3_vfs>(*real_vfs())) {
    static std::atomic<int> count{0};
    name_ = "mortise-fault-" + std::to_string(++count);
    vfs_->zName = name_.c_str();
    vfs_->szOsFile = real_offset + real_vfs()->szOsFile;
    vfs_->pAppData = this;
    vfs_->xOpen = open;
    vfs_->xDelete = remove;
    vfs_->xSleep = sleep;
    vfs_->pNext = nullptr;
    const int code = ::sqlite3_vfs_register(vfs_.get(), 0);
    MORTISE_ASSERT(code == SQLITE_OK);
}

fault_vfs::~fault_vfs() {
    ::sqlite3_vfs_unregister(vfs_.get());
}

int fault_vfs::next_result() {
    if (!power)
        return SQLITE_IOERR;
    const int number = ++operations;
    const int at = fail_at;
    const bool fails = at != 0 && (for_good ? number >= at : number == at);
    return fails ? result.load() : SQLITE_OK;
}

void fault_vfs::remember(const std::string& path, std::int64_t offset, std::size_t size) {
    undo before;
    before.path = path;
    before.offset = offset;
    before.length = std::filesystem::file_size(path);
    std::ifstream file(path, std::ios::binary);
    file.seekg(offset);
    const auto there = before.length > static_cast<std::uintmax_t>(offset)
                           ? before.length - static_cast<std::uintmax_t>(offset)
                           : 0;
    before.bytes.resize(std::min<std::size_t>(size, there));
    file.read(before.bytes.data(), static_cast<std::streamsize>(before.bytes.size()));
    const std::lock_guard hold(mutex_);
    undo_.push_back(std::move(before));
}

void fault_vfs::forget(const std::string& path) {
    const std::lock_guard hold(mutex_);
    std::erase_if(undo_, [&](const undo& each) { return each.path == path; });
}

std::size_t fault_vfs::unsynced() const {
    const std::lock_guard hold(mutex_);
    return undo_.size();
}

void fault_vfs::lose_unsynced(std::size_t kept) {
    const std::lock_guard hold(mutex_);
    while (undo_.size() > kept) {
        const undo& last = undo_.back();
        {
            std::fstream file(last.path, std::ios::binary | std::ios::in | std::ios::out);
            file.seekp(last.offset);
            file.write(last.bytes.data(), static_cast<std::streamsize>(last.bytes.size()));
        }
        std::filesystem::resize_file(last.path, last.length);
        undo_.pop_back();
    }
    undo_.clear();
}

int fault_vfs::sync_log() {
    ++log_syncs;
    std::unique_lock hold(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(hold, [this] { return !held_; });
    --waiting_;
    return log_sync_result;
}

void fault_vfs::hold_syncs() {
    const std::lock_guard hold(mutex_);
    held_ = true;
}

void fault_vfs::release_syncs() {
    const std::lock_guard hold(mutex_);
    held_ = false;
    changed_.notify_all();
}

void fault_vfs::wait_for_held_sync() {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [this] { return held_ && waiting_ > 0; });
}

void fault_vfs::hold_opens() {
    const std::lock_guard hold(mutex_);
    opens_held_ = true;
}

void fault_vfs::release_opens() {
    const std::lock_guard hold(mutex_);
    opens_held_ = false;
    changed_.notify_all();
}

void fault_vfs::wait_for_held_open() {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [this] { return opens_held_ && opens_waiting_ > 0; });
}

void fault_vfs::before_open() {
    std::unique_lock hold(mutex_);
    ++opens_waiting_;
    changed_.notify_all();
    changed_.wait(hold, [this] { return !opens_held_; });
    --opens_waiting_;
}

}  // namespace mortise::test
