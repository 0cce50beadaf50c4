// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_MESSAGE_READER_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_MESSAGE_READER_HPP

#include "wire/http_message.hpp"

#include <memory>
#include <string>

namespace mortise::txn::http {

/// Makes one request of bytes as they arrive. No I/O.
class request_reader {
public:
    explicit request_reader(const message_limits& limits);
    ~request_reader();
    request_reader(request_reader&&) noexcept;
    request_reader& operator=(request_reader&&) noexcept;

    /// Takes from the front of `bytes` what belongs to the request, and leaves the rest.
    fault feed(std::string& bytes);

    bool has_header() const noexcept;
    bool done() const noexcept;
    /// The client sends the body only when it is told to go on.
    bool wants_continue() const;
    /// Only when it is done.
    request take();

private:
    class parser;
    std::unique_ptr<parser> parser_;
};

/// Makes one response of bytes as they arrive. No I/O.
class response_reader {
public:
    explicit response_reader(const message_limits& limits);
    ~response_reader();
    response_reader(response_reader&&) noexcept;
    response_reader& operator=(response_reader&&) noexcept;

    /// Takes from the front of `bytes` what belongs to the response, and leaves the rest.
    fault feed(std::string& bytes);

    bool done() const noexcept;
    /// Its header does not say where it ends: nobody could tell whether all of it has come.
    bool has_no_length() const;
    /// Only when it is done.
    response take();

private:
    class parser;
    std::unique_ptr<parser> parser_;
};

/// The bytes of a message. Fields whose values are no HTTP are left out.
std::string bytes_of(const request& what);
std::string bytes_of(const response& what);

}  // namespace mortise::txn::http

#endif
