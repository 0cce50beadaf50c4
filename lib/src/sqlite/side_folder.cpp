// SPDX-License-Identifier: BSL-1.0
#include "sqlite/side_folder.hpp"

#include "sqlite/failure.hpp"
#include "sqlite/host_facts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace mortise::sqlite_detail {
namespace {

constexpr const char* lock_name = "lock";

detail::unique_fd open_lock(int folder, const std::string& path) {
    detail::unique_fd lock(
        ::openat(folder, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
    );
    if (!lock)
        throw failure_of_call(errno, "opening the lock file", path);
    return lock;
}

bool is_socket_name(std::string_view name) noexcept {
    return name.size() == 18 && (name.ends_with(".d") || name.ends_with(".s"));
}

}  // namespace

side_folder::side_folder(const std::string& database) : path_(database + ".mortise") {
    if (::access(path_.c_str(), F_OK) != 0) {
        const bool is_new = ::access(database.c_str(), F_OK) != 0;
        const auto folder = std::filesystem::path(database).parent_path().string();
        refuse_to_make_as_root(is_new ? folder : database);
    }
    made_ = ::mkdir(path_.c_str(), 0700) == 0;
    if (!made_ && errno != EEXIST)
        throw failure_of_call(errno, "making the side folder", path_);
    folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!folder_)
        throw failure_of_call(errno, "opening the side folder", path_);
    lock_ = open_lock(folder_.get(), path_);
}

void side_folder::undo() noexcept {
    if (!std::exchange(made_, false))
        return;
    std::error_code failed;
    std::size_t files = 0;
    for (std::filesystem::directory_iterator each(path_, failed), end; !failed && each != end;
         each.increment(failed))
        ++files;
    if (failed || files > 1)
        return;  // Somebody was here first and has made a store.
    ::unlinkat(folder_.get(), lock_name, 0);
    ::rmdir(path_.c_str());
}

std::string side_folder::short_path(const std::string& name) const {
    return "/proc/self/fd/" + std::to_string(folder_.get()) + '/' + name;
}

void side_folder::lock() {
    // A store that made the folder in vain removes the lock file again. Whoever waited for that
    // file then holds a lock that nobody else sees, and must take the new file.
    constexpr int tries = 16;
    for (int i = 0; i < tries; ++i) {
        while (::flock(lock_.get(), LOCK_EX) != 0) {
            if (errno != EINTR)
                throw failure_of_call(errno, "flock", path_);
        }
        struct stat found {};
        if (::fstat(lock_.get(), &found) == 0 && found.st_nlink != 0)
            return;
        unlock();  // Others may wait for this file, too, and must find that out.
        if (find_file(AT_FDCWD, path_.c_str(), identity_of(folder_.get())) == whereabouts::other)
            throw error(errc::store_replaced, path_, "see who removed the side folder");
        lock_ = open_lock(folder_.get(), path_);
    }
    throw error(errc::store_replaced, path_, "stop whoever keeps removing files there");
}

bool side_folder::lock_within(std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds step{10};
    for (auto left = limit;; left -= step) {
        if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            throw failure_of_call(errno, "flock", path_);
        if (left <= step)
            return false;
        ::poll(nullptr, 0, static_cast<int>(step.count()));
    }
}

void side_folder::unlock() noexcept {
    ::flock(lock_.get(), LOCK_UN);
}

whereabouts side_folder::where() const noexcept {
    return both(
        find_file(AT_FDCWD, path_.c_str(), identity_of(folder_.get())),
        find_file(folder_.get(), lock_name, identity_of(lock_.get()))
    );
}

void side_folder::remove(const std::string& name) noexcept {
    ::unlinkat(folder_.get(), name.c_str(), 0);
}

void side_folder::sweep() noexcept {
    // Opens the folder anew: a directory stream shares the position of its descriptor, and would
    // move that of `folder_` and of its duplicates.
    detail::unique_fd fd(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), &::closedir);
    if (!stream)
        return;
    fd.release();
    while (const dirent* each = ::readdir(stream.get())) {
        if (is_socket_name(each->d_name))
            ::unlinkat(folder_.get(), each->d_name, 0);
    }
}

}  // namespace mortise::sqlite_detail
