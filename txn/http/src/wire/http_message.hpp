// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_HTTP_MESSAGE_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_HTTP_MESSAGE_HPP

#include "mortise/txn/http/http_message.hpp"

#include <cstddef>

namespace mortise::txn::http {

using header_list = http_header_list;
using request = http_request;
using response = http_response;

/// The largest parts of a message that are held in memory, in bytes.
struct message_limits {
    std::size_t header_max = 16u << 10;
    std::size_t body_max = 1u << 20;
};

/// Why the bytes of a message are refused.
enum class fault : unsigned char { none, header_too_long, body_too_long, malformed };

}  // namespace mortise::txn::http

#endif
