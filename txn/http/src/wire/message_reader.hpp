// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_MESSAGE_READER_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_MESSAGE_READER_HPP

#include "wire/http_message.hpp"

#include <memory>
#include <string>

namespace mortise::txn::http {

/// Makes a request from bytes as they arrive. No I/O.
class request_reader {
public:
    explicit request_reader(const message_limits& limits);
    ~request_reader();
    request_reader(request_reader&&) noexcept;
    request_reader& operator=(request_reader&&) noexcept;

    /// Takes the bytes of the request from the front of `bytes`, and leaves the rest.
    fault feed(std::string& bytes);

    bool has_header() const noexcept;
    bool done() const noexcept;
    /// Whether the client sends the body only after a response `100 Continue`.
    bool wants_continue() const;
    /// Call it only when `done`.
    request take();

private:
    class parser;
    std::unique_ptr<parser> parser_;
};

/// Makes a response from bytes as they arrive. No I/O.
class response_reader {
public:
    explicit response_reader(const message_limits& limits);
    ~response_reader();
    response_reader(response_reader&&) noexcept;
    response_reader& operator=(response_reader&&) noexcept;

    /// Takes the bytes of the response from the front of `bytes`, and leaves the rest.
    fault feed(std::string& bytes);

    bool done() const noexcept;
    /// Whether its header does not say where it ends, so nobody can tell if all of it has come.
    bool has_no_length() const;
    /// Call it only when `done`.
    response take();

private:
    class parser;
    std::unique_ptr<parser> parser_;
};

/// Returns the bytes of a message. Fields with values that HTTP does not allow are left out.
std::string bytes_of(const request& message);
std::string bytes_of(const response& message);

}  // namespace mortise::txn::http

#endif
