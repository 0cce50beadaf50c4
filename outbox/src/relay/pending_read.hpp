// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_PENDING_READ_HPP
#define MORTISE_OUTBOX_SRC_RELAY_PENDING_READ_HPP

#include "mortise/coro/event.hpp"
#include "table/rows.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>

namespace mortise::outbox::detail {

/// A read of rows that is under way.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes Shared by the waiter and the read: either may end first.
class pending_read {
public:
    pending_read(const asio::any_io_executor& strand, std::uint64_t number, std::int64_t row)
        : read(number), after(row), ready(strand) {}

    const std::uint64_t read;  ///< The number of this read at the relay.
    const std::int64_t after;  ///< It reads rows after this one.
    coro::event ready;
    error_code failed;
    table::batch found;
};

}  // namespace mortise::outbox::detail

#endif
