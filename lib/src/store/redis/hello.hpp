// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_HELLO_HPP
#define MORTISE_STORE_REDIS_HELLO_HPP

#include "store/redis/redis_failure.hpp"
#include "store/redis/redis_value.hpp"

#include <vector>

namespace mortise::store_detail {

/// Judges a server by its replies to a greeting (`HELLO 3`) and perhaps to the choice of a database
/// (`SELECT`): what is wrong with the server, or no code if nothing is.
///
/// @param sentinel whether the server must be a sentinel; otherwise it must be one with data.
redis_failure judge_hello(const std::vector<redis_value>& replies, bool sentinel);

}  // namespace mortise::store_detail

#endif
