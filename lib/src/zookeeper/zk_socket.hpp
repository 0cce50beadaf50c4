// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_SOCKET_HPP
#define MORTISE_ZOOKEEPER_ZK_SOCKET_HPP

#include "mortise/coro/detail/fork_guard.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::zookeeper_detail {

namespace asio = boost::asio;

/// The socket of the C client as one that Asio waits for.
///
/// The client closes its socket and opens others inside of its calls, and a new one may get the
/// number of the old. So Asio gets a copy, and the copy is compared with the client's by the number
/// that the kernel gives each socket.
///
/// @par Threads One strand.
class zk_socket {
public:
    explicit zk_socket(const asio::any_io_executor& strand)
        : watched_(std::make_unique<asio::posix::stream_descriptor>(strand)) {}
    ~zk_socket() { forget(); }
    zk_socket(const zk_socket&) = delete;
    zk_socket& operator=(const zk_socket&) = delete;

    /// Watches this socket of the client, or none (-1). Waits for another one end.
    /// @return false if the system has no descriptor for that
    bool follow(int fd) {
        const auto number = number_of(fd);
        if (number == number_)
            return true;
        forget();
        if (number == 0)
            return true;
        const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0)
            return false;
        boost::system::error_code failed;
        watched_->assign(copy, failed);
        if (failed) {
            ::close(copy);
            return false;
        }
        number_ = number;
        gathers_ = false;
        return true;
    }

    /// Whether it watches anything.
    bool any() const noexcept { return number_ != 0; }
    std::uint64_t number() const noexcept { return number_; }

    /// Calls `then(error_code)` when the socket can be read or written, or is not watched any more.
    template <class Then>
    void wait(asio::posix::stream_descriptor::wait_type way, Then then) {
        watched_->async_wait(way, std::move(then));
    }

    /// Keeps back what the client writes, until `send_gathered`: it writes the length of a message
    /// apart from the message, and a server would be woken twice for each.
    void gather() noexcept {
        if (!std::exchange(gathers_, true))
            hold_back(1);
    }
    void send_gathered() noexcept {
        if (std::exchange(gathers_, false))
            hold_back(0);
    }

    /// Ends the connection, which the client then notices.
    void shut_down() noexcept {
        if (watched_ && watched_->is_open() && !process_.forked())
            ::shutdown(watched_->native_handle(), SHUT_RDWR);
    }

    // Takes the copy out of Asio's set before it is closed: the kernel would keep it there, because
    // the client's own descriptor stands for the same socket. In a forked child the set is the
    // parent's, so the object that would take it out is left behind.
    void forget() noexcept {
        number_ = 0;
        if (!watched_ || !watched_->is_open())
            return;
        if (process_.forked())
            ::close(watched_.release()->native_handle());
        else
            ::close(watched_->release());
    }

private:
    static std::uint64_t number_of(int fd) noexcept {
        struct stat about {};
        return fd >= 0 && ::fstat(fd, &about) == 0 ? about.st_ino : 0;
    }

    // A failure costs packets only; the kernel keeps nothing back for longer than 200 ms.
    void hold_back(int holds) noexcept {
        if (watched_ && watched_->is_open() && !process_.forked())
            ::setsockopt(watched_->native_handle(), IPPROTO_TCP, TCP_CORK, &holds, sizeof holds);
    }

    std::unique_ptr<asio::posix::stream_descriptor> watched_;
    std::uint64_t number_ = 0;  ///< Of the socket; zero: none.
    bool gathers_ = false;
    const coro::detail::fork_guard process_;
};

}  // namespace mortise::zookeeper_detail

#endif
