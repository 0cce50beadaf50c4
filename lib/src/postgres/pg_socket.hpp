// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_PG_SOCKET_HPP
#define MORTISE_POSTGRES_PG_SOCKET_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace mortise::postgres_detail {

namespace asio = boost::asio;

/// A connection of libpq, and its socket as one that Asio waits for.
///
/// Asio gets a copy of the descriptor: libpq opens and closes its own as it likes while it
/// connects, and one that Asio still watches must not be closed behind its back.
///
/// @par Threads One strand.
class pg_socket {
public:
    explicit pg_socket(asio::any_io_executor strand)
        : watched_(std::make_unique<asio::posix::stream_descriptor>(std::move(strand))) {}
    ~pg_socket() { close(); }
    pg_socket(const pg_socket&) = delete;
    pg_socket& operator=(const pg_socket&) = delete;

    PGconn* get() const noexcept { return connection_.get(); }
    void take(PGconn* connection) noexcept { connection_.reset(connection); }

    /// Watches the present socket of libpq. @return why it cannot
    error_code follow() {
        forget();
        const int copy = ::fcntl(::PQsocket(get()), F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            const bool none_left = errno == EMFILE || errno == ENFILE;
            return none_left ? errc::too_many_files : errc::store_unavailable;
        }
        boost::system::error_code failed;
        watched_->assign(copy, failed);
        if (failed)
            ::close(copy);
        return failed;
    }

    /// Calls `then(error_code)` when the socket can be read or written; with an error, when it is
    /// not watched any longer.
    template <class Then>
    void wait(asio::posix::stream_descriptor::wait_type way, Then then) {
        watched_->async_wait(way, std::move(then));
    }

    /// Closes the connection. In a forked child only the child's descriptors: to say good-bye would
    /// end the parent's session at the server.
    void close() noexcept {
        forget();
        if (!connection_)
            return;
        if (process_.forked()) {
            ::close(::PQsocket(connection_.get()));
            static_cast<void>(connection_.release());
        } else {
            connection_.reset();
        }
    }

private:
    struct finisher {
        void operator()(PGconn* connection) const noexcept { ::PQfinish(connection); }
    };

    // Takes the copy out of Asio's set before it is closed: the kernel would keep it there, because
    // libpq's own descriptor stands for the same socket. In a forked child the set is the parent's,
    // so the object that would take it out is left behind.
    void forget() noexcept {
        if (!watched_ || !watched_->is_open())
            return;
        if (process_.forked())
            ::close(watched_.release()->native_handle());
        else
            ::close(watched_->release());
    }

    std::unique_ptr<PGconn, finisher> connection_;
    std::unique_ptr<asio::posix::stream_descriptor> watched_;
    const coro::detail::fork_guard process_;
};

}  // namespace mortise::postgres_detail

#endif
