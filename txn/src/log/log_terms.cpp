// SPDX-License-Identifier: BSL-1.0
#include "log/log_terms.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/txn/error.hpp"
#include "planted_bugs.hpp"

#include <string>

namespace mortise::txn::log {
namespace {

// Returns the domain whose tokens the epochs are; empty: they are not tokens.
std::string epochs_of(db::connection& on) {
    auto row = on.query("SELECT epochs FROM mortise_txn_log");
    return row.step() ? row.text(0) : std::string();
}

std::uint64_t epoch_of(db::connection& on, std::uint32_t partition) {
    auto row = on.query("SELECT epoch FROM mortise_txn_partition WHERE id = ?1", partition);
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

}  // namespace

std::uint64_t log_terms::changes(db::connection& on, std::uint32_t partition) {
    auto row = on.query("SELECT changes FROM mortise_txn_partition WHERE id = ?1", partition);
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

std::uint64_t log_terms::count_change(db::connection& on, std::uint32_t partition) {
    auto row = on.query(
        "UPDATE mortise_txn_partition SET changes = changes + 1 WHERE id = ?1 RETURNING changes",
        partition
    );
    const auto changes = row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
    while (row.step()) {
    }
    return changes;
}

// Adds the changes that are missing, because each was at most one epoch. Epochs that are tokens
// grow by themselves.
void log_terms::go_on_above(db::connection& on, std::uint32_t partition, std::uint64_t changes) {
    on.run(
        "INSERT INTO mortise_txn_partition(id, epoch, term, changes) VALUES(?1, 0, 0, 0)"
        " ON CONFLICT(id) DO NOTHING",
        partition
    );
    if (epochs_of(on).empty()) {
        on.run(
            "UPDATE mortise_txn_partition SET epoch = epoch + max(?2 - changes, 0) WHERE id = ?1",
            partition,
            changes
        );
    }
    on.run(
        "UPDATE mortise_txn_partition SET changes = max(changes, ?2) WHERE id = ?1",
        partition,
        changes
    );
}

bool log_terms::decides(db::connection& on, const term& by) {
    if (detail::planted_bugs::log_without_epoch())
        return true;
    auto row = on.query(
        "SELECT 1 FROM mortise_txn_partition WHERE id = ?1 AND epoch = ?2 AND term = ?3",
        by.partition,
        by.epoch,
        by.id
    );
    return row.step();
}

// Begins a term. A log can pass from coordinators without locks, which count its terms, to those
// with locks, whose tokens are higher. It never passes back, nor to locks of another domain.
result<term> log_terms::take_over(
    db::connection& on,
    std::uint64_t log,
    std::uint32_t partition,
    const std::optional<fencing_token>& epoch,
    std::uint64_t id
) {
    const std::string domain(epoch ? epoch->domain.name() : "");
    const auto known = epochs_of(on);
    if (!known.empty() && known != domain)
        return error_code(errc::foreign_epochs);
    const auto before = epoch_of(on, partition);
    if (epoch && epoch->value <= before)
        return error_code(errc::stepped_down);
    term term{log, partition, epoch ? epoch->value : before + 1, id};
    if (known != domain)
        on.run("UPDATE mortise_txn_log SET epochs = ?1", domain);
    MORTISE_CRASH_POINT("log.take_over");
    on.run(
        "INSERT INTO mortise_txn_partition(id, epoch, term) VALUES(?1, ?2, ?3)"
        " ON CONFLICT(id) DO UPDATE SET epoch = excluded.epoch, term = excluded.term",
        partition,
        term.epoch,
        id
    );
    term.change = count_change(on, partition);
    return term;
}

}  // namespace mortise::txn::log
