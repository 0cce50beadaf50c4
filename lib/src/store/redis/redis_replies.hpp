// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_REPLIES_HPP
#define MORTISE_STORE_REDIS_REDIS_REPLIES_HPP

#include "store/redis/redis_failure.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/redis/resp3/node.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// Puts a value together from its nodes, in the order in which Boost.Redis gives them.
class reply_builder {
public:
    /// Takes the next node. @return the value, if it is complete now.
    std::optional<redis_value> add(const boost::redis::resp3::basic_node<std::string_view>& node);

private:
    struct open_array {
        redis_value value;
        std::size_t left = 0;  ///< How many of its items are still to come.
    };

    std::vector<open_array> open_;
};

/// Judges a server by its replies to a greeting (`HELLO 3`) and perhaps to the choice of a database
/// (`SELECT`): what is wrong with the server, or no code if nothing is.
///
/// @param sentinel whether the server must be a sentinel; otherwise it must be one with data.
redis_failure judge_hello(const std::vector<redis_value>& replies, bool sentinel);

}  // namespace mortise::store_detail

#endif
