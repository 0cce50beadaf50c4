// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/interruption.hpp"

#include <signal.h>

#include <csignal>
#include <stdexcept>

namespace flash_sale {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void listen_for_interruption() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    for (const int signal : {SIGINT, SIGTERM})
        ::sigaction(signal, &action, nullptr);
}

void throw_if_interrupted() {
    if (interrupted != 0)
        throw std::runtime_error("interrupted");
}

}  // namespace flash_sale
