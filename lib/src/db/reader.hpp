// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_READER_HPP
#define MORTISE_DB_READER_HPP

#include "db/busy_wait.hpp"
#include "db/closure_guard.hpp"
#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/detail/session_job.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "sqlite/sqlite_db.hpp"

#include <memory>
#include <optional>
#include <span>

namespace mortise::db::detail {

class session_state;

/// The reading side of a session: runs each closure in a snapshot of its own. Runs on the session's
/// reading thread, except for its construction and its end.
class reader final : public coro::detail::batch_runner {
public:
    /// The database must have been opened for writing before. @throws error
    reader(std::shared_ptr<session_state> state, const sqlite_config& config);
    ~reader() override;

    void run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept override;

    /// Closes the files. No closure may run any longer.
    void close() noexcept;

private:
    void read(session_job& job) noexcept;

    std::shared_ptr<session_state> state_;
    busy_wait wait_;
    closure_guard guard_;
    sqlite_detail::sqlite_db db_;
    std::optional<connection> connection_;
};

}  // namespace mortise::db::detail

#endif
