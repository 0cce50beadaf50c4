// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_PARTITION_HPP
#define MORTISE_TXN_COORDINATOR_PARTITION_HPP

#include "log/log_tables.hpp"
#include "mortise/coro/event.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::txn::detail {

/// A part of a log's transactions; one coordinator at a time works on it.
class partition {
public:
    partition(std::uint32_t number, const asio::any_io_executor& on) : id(number), left(on) {}

    /// Whether new transactions may begin in it.
    bool takes() const noexcept { return term && !leaving; }
    /// Whether all that is under way here is decided.
    bool decides_nothing() const noexcept { return beginning == 0 && undecided == 0; }
    /// Whether that term still decides here.
    bool is_in(std::uint64_t term_id) const noexcept { return term && term->id == term_id; }

    const std::uint32_t id;
    std::optional<log::term> term;                    ///< Ours, while we decide.
    coro::event left;                                 ///< Set when we no longer need the lock.
    std::shared_ptr<asio::cancellation_signal> stop;  ///< Stops the coroutine that stands for it.
    std::uint64_t claim = 0;     ///< Counts our leases of its lock, and their ends.
    bool refused = false;        ///< The log did not accept the last epoch.
    bool leaving = false;        ///< It goes to another coordinator once all is decided.
    std::size_t suspicious = 0;  ///< Transactions that say that the log is an old copy.
    std::size_t beginning = 0;   ///< Transactions that wait for their number.
    std::size_t undecided = 0;   ///< Transactions with a number that wait for their decision.
    std::uint64_t recovered_to = 0;
    bool recovering = false;
    bool recovery_done = false;
};

}  // namespace mortise::txn::detail

#endif
