// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_BUSY_WAIT_HPP
#define MORTISE_DB_BUSY_WAIT_HPP

#include "mortise/coro/clock.hpp"

#include <chrono>

struct sqlite3;

namespace mortise::db::detail {

class session_state;

/// The wait of a connection for another one that holds the database: for a bounded time, and not
/// beyond the end of its session.
class busy_wait {
public:
    busy_wait(session_state& state, std::chrono::milliseconds max) noexcept
        : state_(state), max_(max) {}

    /// Becomes the connection's busy handler. It must outlive the connection.
    void install(sqlite3* db) noexcept;
    void set_max(std::chrono::milliseconds max) noexcept { max_ = max; }

    /// Blocks for a moment that grows with the number of earlier tries, which is 0 at first.
    /// @return false if the time is over or the session ends: give up.
    bool once_more(int tries) noexcept;

private:
    static int on_busy(void* self, int tries) noexcept;

    session_state& state_;
    clock::duration max_;
    clock::time_point begin_{};
};

}  // namespace mortise::db::detail

#endif
