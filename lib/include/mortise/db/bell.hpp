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

/// What is done now and then where no ring comes, as a ring may be lost with its sender.
class bell_pulse {
public:
    bell_pulse() = default;
    bell_pulse(std::chrono::milliseconds every, std::function<void()> then)
        : interval(every), beat(std::move(then)) {}

    /// Of real time, from the last beat or ring; zero: never.
    std::chrono::milliseconds interval{0};
    std::function<void()> beat;  ///< Called as `heard` is.
};

/// Tells whoever waits for news in a database that there are some, from process to process of one
/// host, so that nobody has to look again and again.
///
/// Who listens has a socket in the folder `PATH.bell` beside the database, however its path is
/// written and whatever symbolic links are in it; that of one that died is removed by the next
/// ring. Rings that come together are heard once.
///
/// A ring is a hint. Who rings has committed before; who hears it reads; and who begins to listen
/// reads once, since nobody heard what was rung before.
///
/// @par Threads      `heard` is called on the executor of who listens, and never after the
///                   destructor, if that runs there, too. It does not keep the context at work.
/// @par Lifetimes    It may outlive the context. A forked child hears nothing.
/// @par Cost         A thread for each listener; a few system calls for each ring, and each beat.
class bell {
public:
    /// Listens from now on.
    /// @throws error if there can be no folder, socket or thread.
    bell(
        asio::any_io_executor executor,
        const std::filesystem::path& database,
        std::function<void()> heard,
        bell_pulse without_rings = bell_pulse()
    );
    ~bell();
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;

    /// Tells all that listen; does not wait for them. @return how many there are.
    static std::size_t ring(const std::filesystem::path& database) noexcept;

private:
    std::shared_ptr<detail::bell_listener> listener_;
};

}  // namespace mortise::db

#endif
