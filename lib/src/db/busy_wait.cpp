// SPDX-License-Identifier: BSL-1.0
#include "db/busy_wait.hpp"

#include "db/session_state.hpp"

#include <sqlite3.h>

#include <algorithm>

namespace mortise::db::detail {

void busy_wait::install(sqlite3* db) noexcept {
    ::sqlite3_busy_handler(db, &busy_wait::on_busy, this);
}

int busy_wait::on_busy(void* self, int tries) noexcept {
    auto& wait = *static_cast<busy_wait*>(self);
    const auto now = clock::now();
    if (tries == 0)
        wait.begin_ = now;
    if (now - wait.begin_ >= wait.max_)
        return 0;
    constexpr std::chrono::microseconds least(50);
    constexpr int doublings_max = 6;
    return wait.state_.wait_stop(least * (1 << std::min(tries, doublings_max))) ? 0 : 1;
}

}  // namespace mortise::db::detail
