// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_UNIQUE_FD_HPP
#define MORTISE_TOOLS_COMMON_UNIQUE_FD_HPP

#include <unistd.h>

#include <utility>

namespace mortise::tool {

/// Owns a file descriptor and closes it at the end of its scope.
class unique_fd {
public:
    unique_fd() = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    ~unique_fd() { reset(); }

    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }
    explicit operator bool() const noexcept { return fd_ >= 0; }

    void reset(int fd = -1) noexcept {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

}  // namespace mortise::tool

#endif
