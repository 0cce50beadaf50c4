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

/// A message that could not be sent.
struct parked_message {
    outbox::row_view row;
    std::uint64_t behind = 0;  ///< How many parked messages wait for it.
};

/// Sorts the parked rows: those that could not be sent, and those that wait behind them.
class parked_list {
public:
    /// Adds a row. Call in the order of the row numbers.
    void add(outbox::row_view row);

    const std::vector<parked_message>& messages() const noexcept { return messages_; }

private:
    std::vector<parked_message> messages_;
    std::map<std::pair<std::string, std::string>, std::size_t> of_key_;  // by topic and key
};

}  // namespace mortise::tool

#endif
