// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_UNIQUE_FD_HPP
#define MORTISE_DETAIL_UNIQUE_FD_HPP

#include <unistd.h>

#include <utility>

namespace mortise::detail {

/// A file descriptor that is closed with its owner.
class unique_fd {
public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~unique_fd() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept {
        const int old = std::exchange(fd_, fd);
        if (old >= 0)
            ::close(old);
    }

private:
    int fd_ = -1;
};

}  // namespace mortise::detail

#endif
