// SPDX-License-Identifier: BSL-1.0
#include "db/session_state.hpp"

#include <sqlite3.h>

#include <algorithm>

namespace mortise::db::detail {

void busy_wait::install(sqlite3* db) noexcept {
    ::sqlite3_busy_handler(db, &busy_wait::on_busy, this);
}

int busy_wait::on_busy(void* self, int tries) noexcept {
    return static_cast<busy_wait*>(self)->once_more(tries) ? 1 : 0;
}

bool busy_wait::once_more(int tries) noexcept {
    const auto now = clock::now();
    if (tries == 0)
        begin_ = now;
    if (now - begin_ >= max_)
        return false;
    constexpr std::chrono::microseconds least(50);
    constexpr int doublings_max = 6;
    return !state_.wait_stop(least * (1 << std::min(tries, doublings_max)));
}

}  // namespace mortise::db::detail
