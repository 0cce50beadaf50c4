// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_MACHINE_DELAY_HPP
#define MORTISE_TESTS_SUPPORT_MACHINE_DELAY_HPP

#include <chrono>

namespace mortise::test {

/// How long, since this was made, something on this machine had to wait for a processor, for memory
/// or for the disk, or the machine itself for its host. Promises of real time are not about such
/// waits, so a test of one allows for them: `EXPECT_LT(took, 100ms + delay.so_far())`. On an idle
/// machine it is next to nothing.
///
/// Source: Linux, /proc/pressure (pressure stall information, "some") and /proc/stat ("steal").
/// What the kernel does not tell counts as nothing.
class machine_delay {
public:
    using milliseconds = std::chrono::duration<double, std::milli>;

    machine_delay() : begun_(all()) {}

    milliseconds so_far() const { return all() - begun_; }

private:
    static std::chrono::microseconds all();

    std::chrono::microseconds begun_;
};

}  // namespace mortise::test

#endif
