// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_BELL_HPP
#define MORTISE_DB_BELL_HPP

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>

namespace mortise::db {

namespace asio = boost::asio;

namespace detail {
class bell_listener;
}

/// Tells listeners in all processes of the host that there is news in a database, so that nobody
/// has to poll.
///
/// Each listener has a socket in the folder `PATH.bell` beside the database, however its path is
/// written and whatever symbolic links are in it. The next ring removes the socket of a listener
/// that died. Rings that come together are heard once.
///
/// A ring is a hint: ring after the commit, and read the database on hearing it. A new listener
/// must also read once, because it has not heard the rings before.
///
/// @par Threads      `heard` is called on the executor of the listener, and never after the
///                   destructor, if that runs there, too. It does not keep the context at work.
/// @par Lifetimes    It may outlive the context. A forked child hears nothing.
/// @par Cost         A thread for each listener; a few system calls for each ring.
class bell {
public:
    /// Listens from now on.
    /// @throws error if the folder, the socket or the thread cannot be made.
    bell(
        asio::any_io_executor executor,
        const std::filesystem::path& database,
        std::function<void()> heard
    );
    ~bell();
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;

    /// Tells all listeners; does not wait for them. @return how many there are.
    static std::size_t ring(const std::filesystem::path& database) noexcept;

private:
    std::shared_ptr<detail::bell_listener> listener_;
};

}  // namespace mortise::db

#endif
