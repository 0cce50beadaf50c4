// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_LAST_CLIENT_HPP
#define MORTISE_TESTS_STORM_LAST_CLIENT_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mortise::storm {

/// Lets the dead sessions of a store be reaped. The heartbeats of a live session do that: here a
/// client that only sends heartbeats, until it is the only session, for four TTLs at most.
/// @param sessions counts them; they include that of the client.
/// @param names    what it holds meanwhile: a store of several parts has a session for each.
void bury_the_dead(
    const std::string& url,
    std::chrono::milliseconds ttl,
    const std::function<std::int64_t()>& sessions,
    const std::vector<std::string>& names = {"the last one"}
);

}  // namespace mortise::storm

#endif
