// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_REAPER_HPP
#define MORTISE_STORE_SQL_REAPER_HPP

#include "store/sql/lock_runner.hpp"
#include "store/sql/sql_link.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// Frees what the dead had, grants that have ended, and locks that a quarantine kept: lock by lock,
/// beside all other work, so that no heartbeat waits for it.
///
/// Several clients may reap the same session at once: each write is compared, so this costs
/// messages and nothing else.
///
/// @par Threads   The strand of the link.
/// @par Lifetimes Owned by a `shared_ptr`; its work keeps it.
class reaper : public std::enable_shared_from_this<reaper> {
public:
    explicit reaper(std::shared_ptr<sql_link> link) : link_(std::move(link)), runner_(link_) {}

    /// Begins to free what a heartbeat has found, unless it is at work already.
    void begin(const sql_beat& found);

    /// Ends a session whose process has ended, and frees what it had. If that fails, the next
    /// heartbeat tries it again.
    void bury(core::session_key silent);

    /// Frees all that a dead session had, and forgets it.
    asio::awaitable<error_code> reap(core::session_key key);

    /// Notes a quarantine, so that the first heartbeat after it grants what waits.
    void note_quarantine(clock::duration left) noexcept {
        quarantined_ = quarantined_ || left > clock::duration::zero();
    }

    /// How many entries of a session are read at once.
    static constexpr std::size_t portion = 64;

private:
    void start(std::vector<core::session_key> dead, std::vector<std::string> ended, bool advance);
    asio::awaitable<void> work(
        std::shared_ptr<reaper> self,
        std::vector<core::session_key> dead,
        std::vector<std::string> ended,
        bool advance
    );
    asio::awaitable<error_code>
    free_all(std::vector<core::session_key> dead, std::vector<std::string> ended, bool advance);
    asio::awaitable<error_code> bury_all();
    asio::awaitable<error_code> free_portion(core::session_key key, bool& left);
    asio::awaitable<error_code> expire(std::string name);
    asio::awaitable<error_code> advance_own();

    std::shared_ptr<sql_link> link_;
    lock_runner runner_;
    bool at_work_ = false;
    std::set<core::session_key> silent_;  ///< To bury.
    bool quarantined_ = false;
};

}  // namespace mortise::store_detail

#endif
