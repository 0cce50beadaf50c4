// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_ARRIVALS_HPP
#define MORTISE_TOOLS_BENCH_ARRIVALS_HPP

#include "bench/bare_kafka.hpp"
#include "mortise/coro/clock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace mortise::tool {

/// Reads the records committed to a topic from now on, on its own thread, and notes when each
/// arrived.
class arrivals {
public:
    /// @throws failure
    arrivals(const std::string& servers, const std::string& topic, int partitions);
    ~arrivals();
    arrivals(const arrivals&) = delete;
    arrivals& operator=(const arrivals&) = delete;

    std::size_t count() const;
    /// The arrival times by the records' numbers. For a record that came twice: the first time.
    std::map<std::uint64_t, clock::time_point> take();
    std::size_t repeated() const;

private:
    void read();

    const bare_kafka handle_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, clock::time_point> came_;
    std::size_t repeated_ = 0;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace mortise::tool

#endif
