// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_SWEEPER_STATS_HPP
#define MORTISE_TXN_SWEEPER_STATS_HPP

#include <cstdint>

namespace mortise::txn {

/// Counters of one sweeper since it was made.
class sweeper_stats {
public:
    std::uint64_t looks = 0;
    std::uint64_t looks_failed = 0;  ///< The database could not be read.
    std::uint64_t asked = 0;
    std::uint64_t unreachable = 0;  ///< Questions without an answer: the reservation is kept.
    std::uint64_t unknown = 0;      ///< Answers that the coordinator knows no such transaction.
    std::uint64_t overdue = 0;      ///< Overdue reservations, as of the last look.
};

}  // namespace mortise::txn

#endif
