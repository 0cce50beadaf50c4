// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REPLY_BUILDER_HPP
#define MORTISE_STORE_REDIS_REPLY_BUILDER_HPP

#include "store/redis/redis_value.hpp"

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

}  // namespace mortise::store_detail

#endif
