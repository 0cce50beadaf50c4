// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_FUNCTIONS_HPP
#define MORTISE_TXN_FUNCTIONS_HPP

#include "mortise/txn/participant.hpp"

#include <functional>
#include <memory>

namespace mortise::txn {

/// A coroutine that does one kind of call. The call is kept until it has ended.
///
/// What it throws says that it is not known what was done, except for a `system_error` with a code
/// that a `barrier` has returned (`late_try`, `unknown_branch`, `conflict`, ...): that is an
/// answer.
using call_function = std::function<asio::awaitable<reply>(const call&)>;

/// A participant in this process, made of three coroutines.
std::shared_ptr<participant>
make_participant(call_function try_, call_function confirm, call_function cancel);

}  // namespace mortise::txn

#endif
