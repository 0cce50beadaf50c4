// SPDX-License-Identifier: BSL-1.0
#include "log/operator_order_tables.hpp"

#include "log/log_entries.hpp"
#include "mortise/txn/error.hpp"
#include "wall_clock.hpp"

#include <string>
#include <utility>

namespace mortise::txn::log {
namespace {

// Forgets settled orders after a day: whoever left one asks for the result within minutes.
constexpr const char* forget_old =
    "DELETE FROM mortise_txn_wish WHERE settled < " MORTISE_TXN_NOW " - 86400000";

bool is_there(db::connection& on) {
    auto row = on.query("SELECT 1 FROM sqlite_master WHERE name = 'mortise_txn_wish'");
    return row.step();
}

}  // namespace

void operator_order_tables::prepare(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS mortise_txn_wish(id INTEGER PRIMARY KEY AUTOINCREMENT,"
           " number INTEGER NOT NULL, branch INTEGER NOT NULL, kind INTEGER NOT NULL,"
           " who TEXT NOT NULL, why TEXT NOT NULL, at INTEGER NOT NULL, settled INTEGER,"
           " came INTEGER)");
    on.run("CREATE INDEX IF NOT EXISTS mortise_txn_wishes_left ON mortise_txn_wish(id)"
           " WHERE settled IS NULL");
}

result<std::int64_t> operator_order_tables::leave(db::connection& on, const intervention& order) {
    if (log_entries::verdict_on(on, order.gid).at == standing::never_existed)
        return error_code(errc::bad_gid);
    prepare(on);
    on.run(forget_old);
    on.run(
        "INSERT INTO mortise_txn_wish(number, branch, kind, who, why, at)"
        " VALUES(?1, ?2, ?3, ?4, ?5, " MORTISE_TXN_NOW ")",
        order.gid.number,
        order.branch,
        static_cast<int>(order.type),
        order.who,
        order.why
    );
    return on.last_insert_id();
}

std::vector<operator_order> operator_order_tables::pending(
    db::connection& on, std::uint64_t log, std::int64_t after, std::size_t limit
) {
    std::vector<operator_order> found;
    if (!is_there(on))
        return found;
    auto row = on.query(
        "SELECT w.id, w.number, w.branch, w.kind, w.who, w.why, t.part, t.ended IS NOT NULL"
        " FROM mortise_txn_wish w LEFT JOIN mortise_txn t ON t.number = w.number"
        " WHERE w.settled IS NULL AND w.id > ?1 ORDER BY w.id LIMIT ?2",
        after,
        limit
    );
    while (row.step()) {
        operator_order each;
        each.id = row.integer(0);
        each.order.gid = {log, static_cast<std::uint64_t>(row.integer(1))};
        each.order.branch = static_cast<branch_number>(row.integer(2));
        each.order.type = static_cast<intervention::kind>(row.integer(3));
        each.order.who = row.text(4);
        each.order.why = row.text(5);
        if (!row.is_null(6))
            each.partition = static_cast<std::uint32_t>(row.integer(6));
        each.ended = row.integer(7) != 0;
        found.push_back(std::move(each));
    }
    return found;
}

bool operator_order_tables::settle(db::connection& on, std::int64_t id, error_code code) {
    on.run(
        "UPDATE mortise_txn_wish SET settled = " MORTISE_TXN_NOW ", came = ?2"
        " WHERE id = ?1 AND settled IS NULL",
        id,
        code.value()
    );
    return on.changes() == 1;
}

std::optional<error_code> operator_order_tables::result_of(db::connection& on, std::int64_t id) {
    auto row = on.query("SELECT settled, came FROM mortise_txn_wish WHERE id = ?1", id);
    if (!row.step() || row.is_null(0))
        return std::nullopt;
    const auto code = static_cast<int>(row.integer(1));
    return code == 0 ? error_code() : error_code(static_cast<errc>(code));
}

std::vector<action_view> operator_order_tables::about(db::connection& on, std::uint64_t number) {
    std::vector<action_view> found;
    if (!is_there(on))
        return found;
    auto row = on.query(
        "SELECT kind, branch, who, why, at FROM mortise_txn_wish"
        " WHERE settled IS NULL AND number = ?1 ORDER BY id",
        number
    );
    while (row.step()) {
        auto& each = found.emplace_back();
        each.type = to_string(static_cast<intervention::kind>(row.integer(0)));
        each.branch = static_cast<branch_number>(row.integer(1));
        each.who = row.text(2);
        each.why = row.text(3);
        each.at_ms = row.integer(4);
    }
    return found;
}

}  // namespace mortise::txn::log
