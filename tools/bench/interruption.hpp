// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_INTERRUPTION_HPP
#define MORTISE_TOOLS_BENCH_INTERRUPTION_HPP

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

}  // namespace mortise::tool

#endif
