// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_INTERRUPTION_HPP
#define MORTISE_TOOLS_BENCH_INTERRUPTION_HPP

namespace mortise::tool {

/// While it lives, HUP, INT and TERM do not end the process: the measurement looks for them, and
/// ends in an orderly way, which removes its temporary folder. One at a time.
class interruption {
public:
    interruption();
    ~interruption();
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;

    /// @throws failure with 128 + N if signal N has come.
    static void check();
};

}  // namespace mortise::tool

#endif
