// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/optimistic.hpp"

#include "db/sql_builder.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/sleep.hpp"

#include <cstddef>

namespace mortise::db::detail {

optimistic_run::optimistic_run(
    sql_dialect dialect, versioned_row target, optimistic_options options, std::uint64_t seed
)
    : dialect_(dialect),
      target_(std::move(target)),
      options_(options),
      backoff_(options.pause, seed) {
    MORTISE_ASSERT(options.attempts_max >= 1);
}

bound_sql optimistic_run::update_of(const row& draft) const {
    sql_builder update(dialect_);
    update.text("UPDATE ").table(target_.table).text(" SET ");
    for (std::size_t i = 0; i < draft.size(); ++i) {
        if (draft.changed(i) && draft.name(i) != target_.version_column)
            update.name(draft.name(i)).text(" = ").value(draft.value(i)).text(", ");
    }
    update.name(target_.version_column)
        .text(" = ")
        .name(target_.version_column)
        .text(" + 1 WHERE ");
    update.name(target_.id_column).text(" = ").value(target_.id).text(" AND ");
    return update.name(target_.version_column).text(" = ").value(version_).take();
}

asio::awaitable<row> optimistic_run::read() {
    bound_sql select = sql_builder(dialect_).text("SELECT * FROM ").row(target_).take();
    auto looking = look(std::move(select));
    const query_result found = co_await std::move(looking);
    if (found.empty()) {
        throw row_failure(
            errc::row_missing, target_, "insert it first, or see whether it was removed"
        );
    }
    version_ = found.first().integer(target_.version_column);
    co_return found.first();
}

asio::awaitable<bool> optimistic_run::write(row draft) {
    if (!draft.changed())
        co_return true;
    if (draft.integer(target_.version_column) != version_)
        throw row_failure(errc::bad_config, target_, "the body leaves the version alone");
    auto changing = change(update_of(draft));
    const query_result changed = co_await std::move(changing);
    co_return changed.affected > 0;
}

asio::awaitable<void> optimistic_run::pause() {
    coro::time_source& time = note_conflict();
    if (backoff_.attempts() + 1 >= options_.attempts_max)
        throw row_failure(errc::contended, target_, "try again later, or raise attempts_max");
    co_await coro::sleep_for(time, backoff_.next());
}

}  // namespace mortise::db::detail
