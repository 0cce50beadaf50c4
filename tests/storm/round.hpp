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

/// What became of one storm.
struct round {
    round() = default;

    judgement logs;
    std::size_t kills = 0;
    std::size_t stops = 0;
    std::size_t long_stops = 0;    ///< Of these, longer than the TTL.
    std::size_t inside_stops = 0;  ///< Of these, while it kept the others from the store.
    std::vector<std::pair<std::string, std::size_t>> store_blows;
    std::uint64_t writes = 0;
    std::uint64_t refused = 0;  ///< Late readers and writers, by the fence.

    /// What must not be; empty: all is well.
    std::vector<std::string> verdict;
};

/// Makes what a storm rages over; its work is done on that executor.
using ground_maker =
    std::function<std::unique_ptr<ground>(const settings&, const asio::any_io_executor&)>;

/// Lets a storm rage for so long over a store of its own, waits until all processes have left, and
/// judges. @throws std::exception if the machine does not let it happen.
round run_round(const settings& how, std::chrono::milliseconds span, const ground_maker& make);

}  // namespace mortise::storm

#endif
