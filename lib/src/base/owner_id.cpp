// SPDX-License-Identifier: BSL-1.0
#include "mortise/owner_id.hpp"

#include <atomic>

namespace mortise {

owner_id owner_id::draw() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return owner_id(last.fetch_add(1, std::memory_order_relaxed) + 1);
}

}  // namespace mortise
