// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_TRANSACTION_MARK_HPP
#define MORTISE_DB_TRANSACTION_MARK_HPP

#include "mortise/error.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::db {

/// What a server calls a transaction, to ask for its outcome later. Text that can be stored.
class transaction_mark {
public:
    transaction_mark() = default;
    transaction_mark(std::string of_transaction, std::string of_history)
        : number(std::move(of_transaction)), history(std::move(of_history)) {}

    bool empty() const noexcept { return number.empty(); }
    friend bool operator==(const transaction_mark&, const transaction_mark&) = default;

    std::string number;
    /// Names the history of the database that the number belongs to. After a fail-over to a standby
    /// it is another one, and the number may have been given to another transaction.
    std::string history;
};

/// What became of a transaction.
enum class transaction_outcome : std::uint8_t {
    unknown,  ///< The server cannot tell: another history, or too long ago.
    committed,
    rolled_back,
    in_progress,  ///< Its connection has not ended at the server yet: ask again.
};

/// The answer to a commit was lost (`errc::commit_unknown`).
class lost_commit : public error {
public:
    lost_commit(transaction_mark of, std::string words)
        : error(
              errc::commit_unknown,
              std::move(words),
              of.empty() ? "look for the rows that it writes" : "ask async_outcome for its outcome"
          ),
          mark_(std::move(of)) {}

    /// For `async_outcome`; empty if the transaction was not traced.
    const transaction_mark& mark() const noexcept { return mark_; }

private:
    transaction_mark mark_;
};

}  // namespace mortise::db

#endif
