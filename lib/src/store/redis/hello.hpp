// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_HELLO_HPP
#define MORTISE_STORE_REDIS_HELLO_HPP

#include "store/redis/redis_failure.hpp"
#include "store/redis/redis_value.hpp"

#include <vector>

namespace mortise::store_detail {

/// What is wrong with a server that answers like this when it is greeted (`HELLO 3`), and maybe
/// told to use a database (`SELECT`); no code if nothing is.
///
/// @param sentinel whether it shall be a sentinel, or a server with data.
redis_failure judge_hello(const std::vector<redis_value>& replies, bool sentinel);

}  // namespace mortise::store_detail

#endif
