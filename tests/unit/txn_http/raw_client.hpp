// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_HTTP_RAW_CLIENT_HPP
#define MORTISE_TESTS_UNIT_TXN_HTTP_RAW_CLIENT_HPP

#include <cstdint>
#include <string>

namespace mortise::test {

/// A client of raw bytes, blocking: for a server on another thread.
class raw_client {
public:
    explicit raw_client(std::uint16_t port);
    ~raw_client();
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    /// @return whether all was taken.
    bool send(const std::string& bytes) const;
    /// Until a whole answer has come, or the server has ended the connection: then what has come.
    std::string answer();
    /// Until the server has ended the connection.
    std::string rest();
    /// Ends what it sends.
    void shut() const;

    /// A request, and its answer.
    std::string ask(const std::string& bytes) { return send(bytes) ? answer() : std::string(); }

private:
    bool receive();

    int socket_;
    std::string arrived_;
};

}  // namespace mortise::test

#endif
