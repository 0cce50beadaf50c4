// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_COUNTERS_HPP
#define MORTISE_CLIENT_CLIENT_COUNTERS_HPP

#include "mortise/client_stats.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mortise::detail {

/// The counters of a client: written and read from any thread.
class client_counters {
public:
    using member = std::uint64_t client_stats::*;

    void add(member counter, std::int64_t by = 1) noexcept {
        slot(counter).fetch_add(static_cast<std::uint64_t>(by), std::memory_order_relaxed);
    }

    /// What threads count at the same time may arrive out of order: a lease that is released at
    /// once may leave before it has come. No count is below zero.
    client_stats read() const noexcept {
        client_stats stats;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto value = values_[i].load(std::memory_order_relaxed);
            stats.*members[i] = static_cast<std::int64_t>(value) < 0 ? 0 : value;
        }
        return stats;
    }

private:
    static constexpr std::array<member, 19> members{
        &client_stats::granted,
        &client_stats::busy,
        &client_stats::cancelled,
        &client_stats::failed,
        &client_stats::requests,
        &client_stats::grants,
        &client_stats::draws,
        &client_stats::released,
        &client_stats::released_late,
        &client_stats::lost,
        &client_stats::heartbeats,
        &client_stats::heartbeats_failed,
        &client_stats::sessions,
        &client_stats::looks,
        &client_stats::missed_grants,
        &client_stats::orphans,
        &client_stats::undone_late,
        &client_stats::waiting,
        &client_stats::leases};
    static_assert(sizeof(client_stats) == members.size() * sizeof(std::uint64_t));

    // Once inlined, the search folds to a constant at each call.
    std::atomic<std::uint64_t>& slot(member counter) noexcept {
        std::size_t i = 0;
        while (members[i] != counter)
            ++i;
        return values_[i];
    }

    std::array<std::atomic<std::uint64_t>, members.size()> values_{};
};

}  // namespace mortise::detail

#endif
