// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PREPARED_BRANCH_HPP
#define MORTISE_TXN_PREPARED_BRANCH_HPP

#include "mortise/txn/branch.hpp"
#include "mortise/txn/gid.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace mortise::txn {

/// A branch whose transaction is prepared at a database, as the database knows it.
class prepared_branch {
public:
    prepared_branch() = default;  // declared: no aggregate (docs/compilers.md, G3)
    friend bool operator==(const prepared_branch&, const prepared_branch&) = default;

    txn::gid gid;
    std::uint64_t term = 0;  ///< As `call::term`.
    branch_number branch = 0;
    /// For how long it has been prepared, by the clock of the database; empty: it does not tell.
    std::optional<std::chrono::milliseconds> age;
};

/// How a prepared branch stands by the log of its transaction.
enum class prepared_standing : std::uint8_t {
    unknown,    ///< The log does not know the transaction, or has forgotten it.
    under_way,  ///< The transaction has not ended: its coordinator finishes the branch.
    confirmed,  ///< The transaction was confirmed and has ended, without this branch.
    cancelled,  ///< The transaction was cancelled and has ended, without this branch.
};

/// `unknown`, `under way`, and so on.
const char* to_string(prepared_standing value) noexcept;

/// What to do with a branch that is prepared.
enum class prepared_fate : std::uint8_t {
    leave,      ///< Its transaction is under way: its coordinator finishes it.
    wait,       ///< Nobody needs it, as it seems: look again when it is overdue.
    roll_back,  ///< Nobody needs it.
    report,     ///< People have to decide.
};

/// Decides what becomes of a prepared branch, by presumed abort.
///
/// | the transaction, by the log | the branch is |
/// | --- | --- |
/// | under way | left to its coordinator |
/// | ended, cancelled | rolled back |
/// | ended, confirmed | left to people |
/// | unknown, or begun in another term | rolled back when it is overdue |
///
/// A confirmed transaction ends when all its branches are committed. If one is prepared then, an
/// operator has skipped it, the database is an old copy, or a try came when the database had
/// forgotten the branch. They ask for different ends, and look alike.
///
/// @param of by the log, as it was read after the database: a transaction is written to the log
///     before any of its branches is prepared
/// @param overdue it has been prepared for longer than a transaction may take
constexpr prepared_fate fate_of(prepared_standing of, bool overdue) noexcept {
    switch (of) {
    case prepared_standing::under_way:
        return prepared_fate::leave;
    case prepared_standing::cancelled:
        return prepared_fate::roll_back;
    case prepared_standing::confirmed:
        return prepared_fate::report;
    case prepared_standing::unknown:
        break;
    }
    return overdue ? prepared_fate::roll_back : prepared_fate::wait;
}

}  // namespace mortise::txn

#endif
