// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_ANSWERS_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_ANSWERS_HPP

#include "mortise/error.hpp"
#include "mortise/txn/reply.hpp"
#include "wire/http_message.hpp"

#include <string>
#include <string_view>

namespace mortise::txn::http {

/// How a participant's answer travels. `id` is the `mortise-call` of the call.
response to_response(const result<reply>& said, std::string_view id);

/// What an answer means to a coordinator; `call_failed` unless it says clearly something else.
result<reply> read_answer(response from, std::string_view id);

}  // namespace mortise::txn::http

#endif
