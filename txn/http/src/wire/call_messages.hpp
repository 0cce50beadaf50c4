// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_CALL_MESSAGES_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_CALL_MESSAGES_HPP

#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"
#include "wire/base_url.hpp"
#include "wire/http_message.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::txn::http {

/// Returns the id that the answer must repeat, so that it cannot be taken for another call's.
std::string call_id(const call& call);

request to_request(const call& call, const base_url& at);

/// Reads a call from a request.
/// @return nothing, and the fault in `why`, for the author of the caller.
std::optional<call> read_call(const request& from, operation operation, std::string& why);

/// Makes the response that carries a participant's answer. `id` is the `mortise-call` of the call.
response to_response(const result<reply>& answer, std::string_view id);

/// Reads an answer; `call_failed` unless it clearly says something else.
result<reply> read_answer(response from, std::string_view id);

}  // namespace mortise::txn::http

#endif
