// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_ROUND_HPP
#define MORTISE_TESTS_STORM_ROUND_HPP

#include "storm/ground.hpp"
#include "storm/judge.hpp"
#include "storm/settings.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {

/// The result of one storm.
struct round {
    round() = default;

    judgement logs;
    std::size_t kills = 0;
    std::size_t stops = 0;
    std::size_t long_stops = 0;    ///< Stops longer than the TTL.
    std::size_t inside_stops = 0;  ///< Stops while the process kept others from the store.
    std::vector<std::pair<std::string, std::size_t>> store_blows;
    std::uint64_t writes = 0;
    std::uint64_t refused = 0;  ///< Late reads and writes that the fence refused.

    std::string trace;  ///< The file with all that happened, if a lock was harmed.

    /// The faults of this round. Empty if all is well.
    std::vector<std::string> verdict;
};

/// Creates the ground of a storm. Its work runs on the given executor.
using ground_maker =
    std::function<std::unique_ptr<ground>(const settings&, const asio::any_io_executor&)>;

/// Runs a storm of length `span` over a new store, waits until all processes have ended, and judges
/// the logs. @throws std::exception if the machine prevents that.
round run_round(const settings& how, std::chrono::milliseconds span, const ground_maker& make);

}  // namespace mortise::storm

#endif
