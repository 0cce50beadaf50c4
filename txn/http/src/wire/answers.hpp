// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_ANSWERS_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_ANSWERS_HPP

#include "mortise/error.hpp"
#include "mortise/txn/reply.hpp"
#include "wire/http_message.hpp"

#include <string>
#include <string_view>

namespace mortise::txn::http {

/// Makes the response that carries a participant's answer. `id` is the `mortise-call` of the call.
response to_response(const result<reply>& said, std::string_view id);

/// Reads an answer; `call_failed` unless it clearly says something else.
result<reply> read_answer(response from, std::string_view id);

}  // namespace mortise::txn::http

#endif
