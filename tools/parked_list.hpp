// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_PARKED_LIST_HPP
#define MORTISE_TOOLS_PARKED_LIST_HPP

#include "mortise/outbox/table_view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// A message that cannot be sent.
struct parked_message {
    outbox::row_view row;
    std::uint64_t behind = 0;  ///< So many parked ones wait for it.
};

/// Sorts what is parked into what cannot be sent, and what waits behind that.
class parked_list {
public:
    /// In the order of their numbers.
    void add(outbox::row_view row);

    const std::vector<parked_message>& messages() const noexcept { return messages_; }

private:
    std::vector<parked_message> messages_;
    std::map<std::pair<std::string, std::string>, std::size_t> of_key_;  // by topic and key
};

}  // namespace mortise::tool

#endif
