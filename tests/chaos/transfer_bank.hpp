// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_TRANSFER_BANK_HPP
#define MORTISE_TESTS_CHAOS_TRANSFER_BANK_HPP

#include "mortise/db/sqlite.hpp"
#include "mortise/txn/participant.hpp"
#include "support/transfer_ledger.hpp"

#include <filesystem>

namespace mortise::test {

/// A bank in an SQLite database that takes part in transfers: a `transfer_ledger`.
class transfer_bank final : public txn::participant {
public:
    /// Creates the accounts if they do not exist.
    transfer_bank(const asio::any_io_executor& executor, const std::filesystem::path& database);

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override;

    /// Reads from the database what the judge needs at the end.
    static transfer_ledger::books read_books(const std::filesystem::path& database);

private:
    db::sqlite session_;
};

}  // namespace mortise::test

#endif
