// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_SIDE_FOLDER_HPP
#define MORTISE_SQLITE_SIDE_FOLDER_HPP

#include "mortise/detail/unique_fd.hpp"
#include "sqlite/file_identity.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::sqlite_detail {

/// The folder beside the database: the lock file, the mapped heartbeats, the sockets.
///
/// Opened once and used by its descriptor, so that a relative path, a later `chdir` or a long name
/// does no harm. Each object opens its own lock file, so two stores of one process exclude each
/// other, too.
class side_folder {
public:
    /// Opens the folder of that database, and makes it if it is missing.
    /// @throws error
    explicit side_folder(const std::string& database);

    /// Removes the folder if this object made it and it holds nothing but the lock file. Call it
    /// under the lock: others may be about to make a store there.
    void undo() noexcept;

    int fd() const noexcept { return folder_.get(); }
    const std::string& path() const noexcept { return path_; }

    /// The path of a file in the folder that is short enough for a socket's address.
    std::string short_path(const std::string& name) const;

    /// Waits until no other store works in this folder. @throws error
    void lock();
    void unlock() noexcept;
    /// The same, but gives up after `limit`. @return whether it is locked.
    bool lock_within(std::chrono::milliseconds limit);

    /// Whether the path still leads to this folder and to this lock file.
    whereabouts where() const noexcept;

    void remove(const std::string& name) noexcept;

    /// Removes the sockets of sessions that died without removing them. Called only while no
    /// session is alive.
    void sweep() noexcept;

private:
    std::string path_;
    detail::unique_fd folder_;
    detail::unique_fd lock_;
    bool made_ = false;
};

/// Holds the lock of a folder for a scope.
class folder_guard {
public:
    explicit folder_guard(side_folder& folder) : folder_(&folder) { folder_->lock(); }
    ~folder_guard() { unlock(); }
    folder_guard(const folder_guard&) = delete;
    folder_guard& operator=(const folder_guard&) = delete;

    void unlock() noexcept {
        if (folder_)
            folder_->unlock();
        folder_ = nullptr;
    }

private:
    side_folder* folder_;
};

}  // namespace mortise::sqlite_detail

#endif
