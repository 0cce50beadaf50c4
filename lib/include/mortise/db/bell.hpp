// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_BELL_HPP
#define MORTISE_DB_BELL_HPP

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

namespace mortise::db {

namespace asio = boost::asio;

namespace detail {
class bell_listener;
}

/// A call at an interval at which no ring comes: a ring may be lost with its sender.
class bell_pulse {
public:
    bell_pulse() = default;
    bell_pulse(std::chrono::milliseconds every, std::function<void()> then)
        : interval(every), beat(std::move(then)) {}

    /// Of real time, from the last beat or ring; zero: never.
    std::chrono::milliseconds interval{0};
    std::function<void()> beat;  ///< Called as `heard` is.
};

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
/// @par Cost         A thread for each listener; a few system calls for each ring, and each beat.
class bell {
public:
    /// Listens from now on.
    /// @throws error if the folder, the socket or the thread cannot be made.
    bell(
        asio::any_io_executor executor,
        const std::filesystem::path& database,
        std::function<void()> heard,
        bell_pulse without_rings = bell_pulse()
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
