// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_SIGNAL_SOURCE_HPP
#define MORTISE_TOOLS_COMMON_SIGNAL_SOURCE_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <csignal>
#include <functional>

namespace mortise::tool {

/// Reads the signals of this process from a descriptor.
///
/// Asio's `signal_set` does not tell where a signal comes from. That matters here: a signal of the
/// terminal goes to every process of its foreground group, so passing it on would deliver it twice.
///
/// Blocks the signals in the calling thread and in the threads that it starts later. Create it
/// before any other thread.
class signal_source {
public:
    struct arrival {
        int number = 0;
        bool from_terminal = false;
    };

    explicit signal_source(const asio::any_io_executor& executor);
    ~signal_source();
    signal_source(const signal_source&) = delete;
    signal_source& operator=(const signal_source&) = delete;

    /// Waits for the next signal: HUP, INT, QUIT, TERM, USR1, USR2, WINCH or CHLD.
    asio::awaitable<arrival> next();

    /// The signal mask that was in force before. A new process must start with it.
    const sigset_t& mask_before() const noexcept { return before_; }

private:
    sigset_t before_;
    asio::posix::stream_descriptor descriptor_;
};

/// Whether the signal asks a program to end: HUP, INT, QUIT or TERM.
bool ends_a_program(int signal) noexcept;

/// Runs `body` to its end. HUP, INT, QUIT and TERM cancel it; after the first of them no signal is
/// read. The command can then release what it has at the store before it ends. `on_other` gets the
/// other signals; it may be empty.
/// @return the result of `body`, or 128 + N if signal N cancelled it. @throws what `body` throws,
/// if no signal cancelled it.
asio::awaitable<int> until_signalled(
    signal_source& signals, asio::awaitable<int> body, const std::function<void(int)>& on_other
);

}  // namespace mortise::tool

#endif
