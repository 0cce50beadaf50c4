// SPDX-License-Identifier: BSL-1.0
// The only file that uses Boost.Beast: its parser, and its headers.
#include "wire/message_reader.hpp"

#include "mortise/coro/assert.hpp"
#include "wire/fields.hpp"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace mortise::txn::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::system::error_code;

fault fault_of(const error_code& failed) noexcept {
    if (!failed || failed == beast_http::error::need_more)
        return fault::none;
    if (failed == beast_http::error::header_limit)
        return fault::header_too_long;
    if (failed == beast_http::error::body_limit)
        return fault::body_too_long;
    return fault::malformed;
}

/// Beast's parser with a buffer: each time, the parser gets all the bytes that are not parsed yet.
template <bool IsRequest>
class incremental {
public:
    explicit incremental(const message_limits& limits) {
        // Beast takes zero for "no limit", and its limit of headers has 32 bits.
        constexpr std::size_t header_end = 1u << 30;
        beast_.header_limit(
            static_cast<std::uint32_t>(std::clamp<std::size_t>(limits.header_max, 1, header_end))
        );
        beast_.body_limit(std::max<std::uint64_t>(limits.body_max, 1));
        beast_.eager(true);
    }

    fault feed(std::string& bytes) {
        while (!bytes.empty() && !beast_.is_done()) {
            error_code failed;
            const auto taken =
                beast_.put(boost::asio::const_buffer(bytes.data(), bytes.size()), failed);
            bytes.erase(0, taken);
            if (const auto bad = fault_of(failed); bad != fault::none)
                return bad;
            if (failed == beast_http::error::need_more || taken == 0)
                break;
        }
        return fault::none;
    }

    const auto& beast() const noexcept { return beast_; }

    template <class Message>
    void take_common(Message& into) {
        MORTISE_ASSERT(beast_.is_done());
        into.keep_alive = beast_.get().keep_alive();
        for (const auto& each : beast_.get())
            into.headers.add(std::string(each.name_string()), std::string(each.value()));
        into.body = std::move(beast_.get().body());
    }

private:
    beast_http::parser<IsRequest, beast_http::string_body> beast_;
};

// Lets Beast choose the headers that a message needs, and writes the text itself. Beast's
// serializer would make a sequence of buffers, which costs as much as all the rest of a request.
template <bool IsRequest, class Message>
std::string serialized(
    std::string text,
    beast_http::message<IsRequest, beast_http::string_body>& beast,
    const Message& message
) {
    beast.version(11);
    for (const auto& [name, value] : message.headers) {
        if (value.empty() || is_field_value(value))
            beast.insert(name, value);
    }
    beast.keep_alive(message.keep_alive);
    beast.body() = message.body;
    beast.prepare_payload();
    for (const auto& field : beast) {
        text += field.name_string();
        text += ": ";
        text += field.value();
        text += "\r\n";
    }
    text += "\r\n";
    text += message.body;
    return text;
}

}  // namespace

class request_reader::parser : public incremental<true> {
    using incremental::incremental;
};

request_reader::request_reader(const message_limits& limits)
    : parser_(std::make_unique<parser>(limits)) {}
request_reader::~request_reader() = default;
request_reader::request_reader(request_reader&&) noexcept = default;
request_reader& request_reader::operator=(request_reader&&) noexcept = default;

fault request_reader::feed(std::string& bytes) {
    return parser_->feed(bytes);
}

bool request_reader::has_header() const noexcept {
    return parser_->beast().is_header_done();
}

bool request_reader::done() const noexcept {
    return parser_->beast().is_done();
}

bool request_reader::wants_continue() const {
    const auto& seen = parser_->beast();
    return seen.is_header_done() && !seen.is_done() &&
           boost::beast::iequals(seen.get()[beast_http::field::expect], "100-continue");
}

request request_reader::take() {
    request message;
    message.method = parser_->beast().get().method_string();
    message.target = parser_->beast().get().target();
    parser_->take_common(message);
    return message;
}

class response_reader::parser : public incremental<false> {
    using incremental::incremental;
};

response_reader::response_reader(const message_limits& limits)
    : parser_(std::make_unique<parser>(limits)) {}
response_reader::~response_reader() = default;
response_reader::response_reader(response_reader&&) noexcept = default;
response_reader& response_reader::operator=(response_reader&&) noexcept = default;

fault response_reader::feed(std::string& bytes) {
    return parser_->feed(bytes);
}

bool response_reader::done() const noexcept {
    return parser_->beast().is_done();
}

bool response_reader::has_no_length() const {
    return parser_->beast().is_header_done() && parser_->beast().need_eof();
}

response response_reader::take() {
    response message;
    message.status = parser_->beast().get().result_int();
    parser_->take_common(message);
    return message;
}

std::string bytes_of(const request& message) {
    beast_http::request<beast_http::string_body> beast;
    beast.method_string(message.method);
    beast.target(message.target);
    return serialized(message.method + ' ' + message.target + " HTTP/1.1\r\n", beast, message);
}

std::string bytes_of(const response& message) {
    beast_http::response<beast_http::string_body> beast;
    beast.result(message.status);
    auto line = "HTTP/1.1 " + std::to_string(message.status) + ' ' + std::string(beast.reason());
    return serialized(line + "\r\n", beast, message);
}

}  // namespace mortise::txn::http
