// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_CALL_HEADERS_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_CALL_HEADERS_HPP

#include "mortise/txn/call.hpp"
#include "wire/base_url.hpp"
#include "wire/http_message.hpp"

#include <optional>
#include <string>

namespace mortise::txn::http {

/// Returns the id that the answer must repeat, so that it cannot be taken for another call's.
std::string call_id(const call& what);

request to_request(const call& what, const base_url& at);

/// Reads a call from a request.
/// @return nothing, and the fault in `why`, for the author of the caller.
std::optional<call> read_call(const request& from, operation what, std::string& why);

}  // namespace mortise::txn::http

#endif
