// SPDX-License-Identifier: BSL-1.0
#include "bench/interruption.hpp"

#include "exit_code.hpp"
#include "failure.hpp"

#include <signal.h>

#include <array>
#include <csignal>

namespace mortise::tool {
namespace {

constexpr std::array<int, 3> signals{SIGHUP, SIGINT, SIGTERM};
volatile std::sig_atomic_t arrived = 0;
std::array<struct sigaction, signals.size()> before;

}  // namespace

interruption::interruption() {
    struct sigaction action {};
    action.sa_handler = [](int number) { arrived = number; };
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < signals.size(); ++i) {
        ::sigaction(signals[i], nullptr, &before[i]);
        if (before[i].sa_handler != SIG_IGN)  // `nohup` ignores HUP: keep that
            ::sigaction(signals[i], &action, nullptr);
    }
}

interruption::~interruption() {
    for (std::size_t i = 0; i < signals.size(); ++i)
        ::sigaction(signals[i], &before[i], nullptr);
}

void interruption::check() {
    if (arrived != 0)
        throw failure(exit_code::signal_base + arrived, "the measurement was interrupted");
}

}  // namespace mortise::tool
