// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace mortise::coro::detail {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: mortise: assertion failed: %s\n", file, line, expression);
    std::fflush(stderr);
    std::abort();
}

}  // namespace mortise::coro::detail
