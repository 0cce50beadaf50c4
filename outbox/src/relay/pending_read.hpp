// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_PENDING_READ_HPP
#define MORTISE_OUTBOX_SRC_RELAY_PENDING_READ_HPP

#include "mortise/coro/event.hpp"
#include "table/rows.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>

namespace mortise::outbox::detail {

/// A look for rows that is under way.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes Shared by who waits for it and by the look: either may be gone first.
class pending_read {
public:
    pending_read(const asio::any_io_executor& strand, std::uint64_t number, std::int64_t row)
        : read(number), after(row), ready(strand) {}

    const std::uint64_t read;  ///< Which read of the relay it is.
    const std::int64_t after;  ///< It looks for what comes after that row.
    coro::event ready;
    error_code failed;
    table::batch found;
};

}  // namespace mortise::outbox::detail

#endif
