// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_FUNCTIONS_HPP
#define MORTISE_TXN_FUNCTIONS_HPP

#include "mortise/txn/participant.hpp"

#include <functional>
#include <memory>

namespace mortise::txn {

/// A coroutine that does one kind of call. The call object lives until the coroutine has ended.
///
/// An exception means that the effect is unknown; its text is shown to people. A `system_error`
/// with a code that a `barrier` returns (`late_try`, `unknown_branch`, `conflict`, ...) is an
/// answer.
using call_function = std::function<asio::awaitable<reply>(const call&)>;

/// Makes a participant in this process out of three coroutines.
std::shared_ptr<participant>
make_participant(call_function try_, call_function confirm, call_function cancel);

}  // namespace mortise::txn

#endif
