// SPDX-License-Identifier: BSL-1.0
#include "db/reader.hpp"

#include "db/open_database.hpp"
#include "db/session_state.hpp"
#include "mortise/db/sqlite_error.hpp"

#include <utility>

namespace mortise::db::detail {

reader::reader(std::shared_ptr<session_state> state, const sqlite_config& config)
    : state_(std::move(state)), wait_(*state_, config.busy_max) {
    open_database(db_, wait_, config, database_use::read);
    connection_.emplace(db_.handle(), config.statements_max);
    guard_.install(db_.handle());
}

reader::~reader() {
    close();
}

void reader::close() noexcept {
    connection_.reset();
    db_.close();
}

void reader::run(std::span<const std::shared_ptr<coro::detail::worker_job>> batch) noexcept {
    for (const auto& each : batch)
        read(static_cast<session_job&>(*each));
}

void reader::read(session_job& job) noexcept {
    if (state_->poisoned)
        return job.fail(errc::poisoned);
    if (!db_.step("BEGIN")) {
        job.fail(sqlite_error(db_.code()));
        return db_.forgive();
    }
    job.lend(*connection_);
    guard_.enter();
    job.run();
    guard_.leave();
    connection_->reset_statements();
    db_.roll_back();  // ends the snapshot; a read has nothing to commit
    if (guard_.tried())
        job.fail(errc::transaction_control);
    if (!job.code())
        ++state_->reads;
}

}  // namespace mortise::db::detail
