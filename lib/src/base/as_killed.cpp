// SPDX-License-Identifier: BSL-1.0
#include "base/as_killed.hpp"

namespace mortise::detail {
namespace {

thread_local unsigned depth = 0;

}  // namespace

as_killed::as_killed() noexcept {
    ++depth;
}

as_killed::~as_killed() {
    --depth;
}

bool as_killed::now() noexcept {
    return depth != 0;
}

}  // namespace mortise::detail
