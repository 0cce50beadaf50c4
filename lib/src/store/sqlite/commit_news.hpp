// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_COMMIT_NEWS_HPP
#define MORTISE_STORE_SQLITE_COMMIT_NEWS_HPP

#include "core/lock_engine.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/outcome.hpp"
#include "store/sqlite/own_session.hpp"
#include "store/sqlite/session_index.hpp"
#include "store/sqlite/sql_rows.hpp"
#include "store/sqlite/store_files.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mortise::store_detail {

/// Tells the sessions of a store what a transaction did: other sessions by notes in their slots and
/// by hints, this store's own client by notices.
///
/// @par Threads The writer's thread.
class commit_news {
public:
    commit_news(store_files& files, session_index& index) noexcept : files_(files), index_(index) {}

    /// The files were opened for the first time.
    void open() { sender_.emplace(*files_.folder()); }

    /// Follows the commit, under the lock of the side folder.
    /// @param own null if this store has no session.
    void committed(
        const std::vector<core::effect>& effects, const sql_rows& rows, const own_session* own
    );

    /// Follows that, when the lock is free.
    /// @param done the operations of the transaction.
    void tell(
        const std::vector<core::effect>& effects,
        std::span<lock_operation* const> done,
        const own_session* own,
        std::vector<notice>& notices
    );

    /// Tells the sessions before this one in the ring to watch it from now on.
    void announce(const own_session& session);

private:
    void note(const std::vector<core::effect>& effects);
    void clean_up(const std::vector<buried_session>& buried, const own_session* own) noexcept;
    void wake_watchers();
    void tell_effects(
        const std::vector<core::effect>& effects,
        std::span<lock_operation* const> done,
        const own_session* own,
        std::vector<notice>& notices
    );
    void remind_holders(
        const std::vector<core::effect>& effects,
        const own_session* own,
        std::vector<notice>& notices
    );
    bool is_noted(const core::effect& grant);
    void send(core::session_key to, hint::kind kind, request_id id);

    store_files& files_;
    session_index& index_;
    std::optional<hint_sender> sender_;
    bool others_died_ = false;  ///< In the last transaction: see `remind_holders`.
};

}  // namespace mortise::store_detail

#endif
