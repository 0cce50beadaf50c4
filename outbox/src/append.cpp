// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/append.hpp"

#include "mortise/db/bell.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/options.hpp"
#include "mortise/outbox/error.hpp"
#include "table/message_columns.hpp"
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

void insert(db::connection& on, const message& message, std::chrono::milliseconds unique_for) {
    const std::int64_t now = wall_now();
    const bool unique = unique_for.count() > 0;
    if (unique && table::is_id_taken(on, message.id, now))
        throw error(
            errc::duplicate_id, message.id, "it was appended before: nothing is to be done"
        );
    if (message.not_before) {
        using std::chrono::microseconds;
        const auto due = std::chrono::ceil<microseconds>(message.not_before->time_since_epoch());
        table::insert_later(on, message, due.count());
    } else {
        table::insert(on, message, now);
    }
    if (unique) {
        using std::chrono::microseconds;
        const auto span = std::chrono::duration_cast<microseconds>(unique_for).count();
        table::take_id(on, message.id, now, now + span);
    }
}

}  // namespace

std::string append(db::connection& on, const message& message, append_options options) {
    table::check_message(message);
    mortise::detail::require(
        options.unique_for.count() >= 0 && options.unique_for <= duration_max,
        "unique_for",
        "use zero to a hundred years"
    );
    require_transaction(on.handle());
    outbox::message whole = message;
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

std::string append(sqlite3* on, const message& message, append_options options) {
    db::connection lent(on);
    return append(lent, message, options);
}

std::size_t ring(sqlite3* on) noexcept {
    const char* const path = ::sqlite3_db_filename(on, "main");
    return path == nullptr ? 0 : db::bell::ring(path);
}

}  // namespace mortise::outbox
