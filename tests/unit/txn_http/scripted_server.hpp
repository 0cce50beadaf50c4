// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_HTTP_SCRIPTED_SERVER_HPP
#define MORTISE_TESTS_UNIT_TXN_HTTP_SCRIPTED_SERVER_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::test {

/// A server of raw bytes on a thread of its own: what it does on its n-th connection is written
/// down, whatever it is asked for.
class scripted_server {
public:
    enum class then {
        go_on,  ///< Wait for the next request.
        close,
        reset,
        hang,  ///< Until the client goes.
    };

    /// What is done when a request has come.
    struct step {
        std::string bytes;  ///< `$CALL` stands for the `mortise-call` of the request.
        then after = then::go_on;
    };
    using script = std::vector<step>;

    /// A connection for which there is no script gets the last one.
    explicit scripted_server(std::vector<script> connections);
    ~scripted_server();
    scripted_server(const scripted_server&) = delete;
    scripted_server& operator=(const scripted_server&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/stock"; }
    std::size_t connections() const noexcept { return connections_; }
    /// Whose client went away, or that were ended.
    std::size_t ended() const noexcept { return ended_; }
    std::vector<std::string> requests() const;

    /// An answer with these lines (each ends in `\r\n`), a length, and this body.
    static std::string
    answer(const std::string& status, const std::string& lines, const std::string& body = {});
    /// A call that was done.
    static std::string done(const std::string& body = {});

private:
    void accept_all();
    void play(int on, const script& steps);
    std::string read_request(int on, std::string& arrived) const;
    bool wait(int on) const;

    const std::vector<script> scripts_;
    int socket_ = -1;
    int stop_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<std::size_t> connections_{0};
    std::atomic<std::size_t> ended_{0};
    mutable std::mutex mutex_;
    std::vector<std::string> requests_;
    std::vector<std::thread> players_;
    std::thread acceptor_;
};

}  // namespace mortise::test

#endif
