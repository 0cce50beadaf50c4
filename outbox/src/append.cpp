// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/append.hpp"

#include "message_check.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/options.hpp"
#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::outbox {
namespace {

void require_transaction(sqlite3* on) {
    if (::sqlite3_get_autocommit(on) != 0)
        throw error(
            mortise::errc::no_transaction,
            "no transaction is open",
            "append in the transaction of what the message tells of"
        );
}

void insert(db::connection& on, const message& what, std::chrono::milliseconds unique_for) {
    const std::int64_t now = wall_now();
    const bool unique = unique_for.count() > 0;
    if (unique && table::is_id_taken(on, what.id, now))
        throw error(errc::duplicate_id, what.id, "it was appended before: nothing is to be done");
    if (what.not_before) {
        using std::chrono::microseconds;
        const auto due = std::chrono::ceil<microseconds>(what.not_before->time_since_epoch());
        table::insert_later(on, what, due.count());
    } else {
        table::insert(on, what, now);
    }
    if (unique) {
        using std::chrono::microseconds;
        const auto span = std::chrono::duration_cast<microseconds>(unique_for).count();
        table::take_id(on, what.id, now, now + span);
    }
}

}  // namespace

std::string append(db::connection& on, const message& what, append_options options) {
    check_message(what);
    mortise::detail::require(
        options.unique_for.count() >= 0 && options.unique_for <= duration_max,
        "unique_for",
        "use zero to a hundred years"
    );
    require_transaction(on.handle());
    message whole = what;
    if (whole.id.empty())
        whole.id = message::draw_id();
    try {
        insert(on, whole, options.unique_for);
    } catch (const error&) {
        // SQLite may have rolled back the whole transaction: do not write the message alone then.
        if (::sqlite3_get_autocommit(on.handle()) != 0)
            throw;
        // Creates or updates the tables; refuses those of a newer version.
        if (!table::make(on))
            throw;
        insert(on, whole, options.unique_for);
    }
    table::ring_after_commit(on);
    return std::move(whole.id);
}

std::string append(sqlite3* on, const message& what, append_options options) {
    db::connection lent(on);
    return append(lent, what, options);
}

std::size_t ring(sqlite3* on) noexcept {
    const char* const path = ::sqlite3_db_filename(on, "main");
    return path == nullptr ? 0 : db::bell::ring(path);
}

}  // namespace mortise::outbox
