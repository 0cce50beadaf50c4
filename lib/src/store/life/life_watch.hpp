// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_LIFE_LIFE_WATCH_HPP
#define MORTISE_STORE_LIFE_LIFE_WATCH_HPP

#include "core/lock_rows.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// The socket by which others on this host see that a session lives, and its connections to such
/// sockets of the sessions that it watches.
///
/// Never closes a connection that another session opened, unless that side closed it first: its end
/// would say that this session is dead. `close` says just that.
///
/// @par Threads   The strand.
/// @par Lifetimes Owned by a `shared_ptr`; its handlers do not keep it.
class life_watch : public std::enable_shared_from_this<life_watch> {
public:
    /// Told of a watched session whose process has ended, or has let go of it; it is watched no
    /// more then.
    using silence_function = std::function<void(core::session_key)>;

    life_watch(asio::any_io_executor strand, silence_function silence);

    /// Takes the own socket, which listens.
    void open(detail::unique_fd life);
    /// Closes all sockets; nothing is told afterwards.
    void close() noexcept;

    void watch(core::session_key peer, detail::unique_fd connection);
    void forget(core::session_key peer) noexcept;
    std::vector<core::session_key> watched() const;

    /// Accepts connections again, if that had to stop.
    void resume_accepting();

private:
    using descriptor = asio::posix::stream_descriptor;
    struct peer {
        peer(const asio::any_io_executor& strand, core::session_key key, int fd)
            : session(key), connection(strand, fd) {}

        const core::session_key session;
        descriptor connection;
    };

    void await_guests();
    void accept_guests();
    void await_end_of_guest(const std::shared_ptr<descriptor>& guest);
    void await_silence(const std::shared_ptr<peer>& watched);

    asio::any_io_executor strand_;
    silence_function silence_;  ///< Empty after `close`.
    descriptor life_;
    bool accepting_ = false;
    std::list<std::shared_ptr<descriptor>> guests_;
    std::vector<std::shared_ptr<peer>> watched_;
};

}  // namespace mortise::store_detail

#endif
