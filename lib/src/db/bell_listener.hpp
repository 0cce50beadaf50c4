// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_BELL_LISTENER_HPP
#define MORTISE_DB_BELL_LISTENER_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace mortise::db::detail {

namespace asio = boost::asio;

/// The folder with the sockets of all listeners at that database, however its path is written.
std::string bell_folder(const std::filesystem::path& database);

/// The socket of one listener, and the thread that waits at it: a wait by the executor would keep
/// its context at work for ever.
class bell_listener final : public coro::detail::shutdown_hook,
                            public std::enable_shared_from_this<bell_listener> {
public:
    /// @throws error
    bell_listener(
        asio::any_io_executor executor,
        const std::filesystem::path& database,
        std::function<void()> heard,
        bell_pulse pulse
    );
    ~bell_listener() override;

    /// Call once, after construction: it needs `shared_from_this`. @throws error
    void start();
    void close() noexcept;

private:
    void shut_down() noexcept override;
    void end_thread() noexcept;
    void listen() noexcept;
    void tell(bool ring) noexcept;

    asio::any_io_executor executor_;
    const std::string path_;
    std::function<void()> heard_;
    const bell_pulse pulse_;
    const coro::detail::fork_guard process_;
    mortise::detail::unique_fd folder_;
    std::string name_;
    mortise::detail::unique_fd socket_;
    mortise::detail::unique_fd stop_;
    std::atomic<bool> told_{false};     ///< A ring is on its way to the executor.
    std::atomic<bool> beating_{false};  ///< A beat is.
    std::atomic<bool> closed_{false};
    std::thread thread_;
};

}  // namespace mortise::db::detail

#endif
