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

/// Speaks like a sentinel, and names the primary that the test chooses.
///
/// @par Threads It has one of its own; one other thread calls the members.
class fake_sentinel {
public:
    static constexpr const char* primary_name = "mortise-test";

    explicit fake_sentinel(std::uint16_t primary);
    ~fake_sentinel();
    fake_sentinel(const fake_sentinel&) = delete;
    fake_sentinel& operator=(const fake_sentinel&) = delete;

    std::uint16_t port() const noexcept { return port_; }

    /// Names the server at this port from now on, without telling of the change.
    void name(std::uint16_t primary);
    /// The same, but present connections still hear of the earlier server.
    void name_to_newcomers(std::uint16_t primary);
    /// Like `name`, and tells those who listen, as after a fail-over.
    void announce(std::uint16_t primary);
    /// Closes all its connections, and takes no others until `come_back`.
    void leave();
    void come_back();
    /// Keeps its connections, and answers no question from now on.
    void fall_silent();

private:
    using socket = asio::ip::tcp::socket;
    struct guest {
        guest(socket with, std::uint16_t where) : connection(std::move(with)), primary(where) {}
        socket connection;
        std::uint16_t primary;  ///< The port that it is told.
        bool listens = false;
    };

    asio::awaitable<void> accept();
    asio::awaitable<void> serve(std::shared_ptr<guest> client);
    void tell_all(std::uint16_t primary);
    static std::string answer(guest& client, const std::string& command);
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
