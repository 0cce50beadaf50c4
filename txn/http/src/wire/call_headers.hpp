// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_CALL_HEADERS_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_CALL_HEADERS_HPP

#include "mortise/txn/call.hpp"
#include "wire/base_url.hpp"
#include "wire/http_message.hpp"

#include <optional>
#include <string>

namespace mortise::txn::http {

/// What an answer has to repeat, so that it cannot be taken for that of another call.
std::string call_id(const call& what);

request to_request(const call& what, const base_url& at);

/// The call that a request makes.
/// @return nothing, and in `why` what is wrong with it, for whoever wrote the caller.
std::optional<call> read_call(const request& from, operation what, std::string& why);

}  // namespace mortise::txn::http

#endif
