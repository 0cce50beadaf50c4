// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_FAKE_SENTINEL_HPP
#define MORTISE_TESTS_SUPPORT_FAKE_SENTINEL_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>

namespace mortise::test {

namespace asio = boost::asio;

/// Speaks like a sentinel, and names whatever primary it is told to.
///
/// @par Threads Its own; the members are called by one other.
class fake_sentinel {
public:
    static constexpr const char* primary_name = "mortise-test";

    explicit fake_sentinel(std::uint16_t primary);
    ~fake_sentinel();
    fake_sentinel(const fake_sentinel&) = delete;
    fake_sentinel& operator=(const fake_sentinel&) = delete;

    std::uint16_t port() const noexcept { return port_; }

    /// From now on it names the server at this port, and says nothing of the change.
    void name(std::uint16_t primary);
    /// The same, but whoever is connected now goes on to hear of the server before.
    void name_to_newcomers(std::uint16_t primary);
    /// Like `name`, and whoever listens is told, as after a fail-over.
    void announce(std::uint16_t primary);
    /// Closes all its connections, and takes no others until it is there again.
    void leave();
    void come_back();
    /// Keeps its connections, and answers nothing that it is asked from now on.
    void fall_silent();

private:
    using socket = asio::ip::tcp::socket;
    struct guest {
        guest(socket with, std::uint16_t where)
            : connection(std::move(with)), primary(where) {}
        socket connection;
        std::uint16_t primary;  ///< What it is told.
        bool listens = false;
    };

    asio::awaitable<void> accept();
    asio::awaitable<void> serve(std::shared_ptr<guest> whom);
    void tell_all(std::uint16_t primary);
    static std::string answer(guest& whom, const std::string& command);
    template <class Task>
    void run(Task task);

    asio::io_context context_{1};
    asio::ip::tcp::acceptor acceptor_;
    const std::uint16_t port_;
    std::uint16_t primary_;
    bool silent_ = false;
    std::list<std::shared_ptr<guest>> guests_;
    std::thread thread_;
};

}  // namespace mortise::test

#endif
