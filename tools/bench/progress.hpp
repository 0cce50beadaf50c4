// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_PROGRESS_HPP
#define MORTISE_TOOLS_BENCH_PROGRESS_HPP

#include <cstdint>
#include <string>

namespace mortise::tool {

/// One progress line on the standard error. Does nothing if that is not a terminal.
class progress {
public:
    explicit progress(std::string what);
    ~progress();  ///< Erases the line.
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(std::uint64_t done, std::uint64_t all);

private:
    std::string what_;
    bool visible_;
};

}  // namespace mortise::tool

#endif
