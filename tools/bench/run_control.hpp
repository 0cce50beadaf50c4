// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_RUN_CONTROL_HPP
#define MORTISE_TOOLS_BENCH_RUN_CONTROL_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/fwd.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace mortise::tool {

/// Keeps HUP, INT and TERM from ending the process while this object lives. The measurement polls
/// for them and ends in order, to remove its temporary folder. Only one may exist at a time.
class interruption {
public:
    interruption();
    ~interruption();
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;

    /// @throws failure with 128 + N if signal N has come.
    static void check();
};

/// Waits for `span`. @throws failure if the measurement is interrupted meanwhile.
asio::awaitable<void> pause_for(std::chrono::milliseconds span);

/// Polls `is_so` every millisecond until it is true. @throws failure if that takes longer than
/// `limit`.
asio::awaitable<void> await_so(std::function<bool()> is_so, clock::duration limit);

/// One progress line on the standard error. Does nothing if that is not a terminal.
class progress {
public:
    explicit progress(std::string title);
    ~progress();  ///< Erases the line.
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(std::uint64_t done, std::uint64_t all);

private:
    std::string title_;
    bool visible_;
};

/// Explains a slow first lock at Redis on the standard error. A server that may have forgotten its
/// grants grants nothing for the longest TTL of its clients.
void explain_slow_start(const lock_client& locks, clock::duration first_lock);

}  // namespace mortise::tool

#endif
