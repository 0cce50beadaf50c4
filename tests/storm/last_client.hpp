// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_LAST_CLIENT_HPP
#define MORTISE_TESTS_STORM_LAST_CLIENT_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace mortise::storm {

/// Lets the dead sessions of a store be reaped. The heartbeats of a live session do that: here a
/// client that only sends heartbeats, until it is the only session, for four TTLs at most.
/// @param sessions counts them; they include that of the client.
void bury_the_dead(
    const std::string& url,
    std::chrono::milliseconds ttl,
    const std::function<std::int64_t()>& sessions
);

}  // namespace mortise::storm

#endif
