// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_STATS_HPP
#define MORTISE_OUTBOX_INBOX_STATS_HPP

#include <cstdint>

namespace mortise::outbox {

/// Counters of an inbox, from its construction.
class inbox_stats {
public:
    std::uint64_t handled = 0;   ///< Messages whose effect was committed.
    std::uint64_t repeated = 0;  ///< Messages that had come before.
    std::uint64_t refused = 0;   ///< Messages that were refused, each with a compensating message.
    std::uint64_t failed = 0;    ///< Attempts that threw.
    std::uint64_t parked = 0;
    std::uint64_t retried = 0;  ///< Attempts after the first attempt of a message.
    std::uint64_t waited = 0;   ///< Messages that began to wait behind another one of their key.
};

}  // namespace mortise::outbox

#endif
