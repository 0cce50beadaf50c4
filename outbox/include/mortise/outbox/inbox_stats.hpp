// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_STATS_HPP
#define MORTISE_OUTBOX_INBOX_STATS_HPP

#include <cstdint>

namespace mortise::outbox {

/// What an inbox has done since it was made.
class inbox_stats {
public:
    std::uint64_t handled = 0;   ///< Messages whose effect was committed.
    std::uint64_t repeated = 0;  ///< They had come before.
    std::uint64_t refused = 0;   ///< A compensating message was sent for them.
    std::uint64_t failed = 0;    ///< Attempts that threw.
    std::uint64_t parked = 0;
    std::uint64_t retried = 0;  ///< Attempts after the first one of a message.
    std::uint64_t waited = 0;   ///< Messages that came to wait behind one of their key.
};

}  // namespace mortise::outbox

#endif
