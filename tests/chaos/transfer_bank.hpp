// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_TRANSFER_BANK_HPP
#define MORTISE_TESTS_CHAOS_TRANSFER_BANK_HPP

#include "mortise/db/sqlite.hpp"
#include "mortise/txn/participant.hpp"

#include <cstdint>
#include <filesystem>
#include <set>

namespace mortise::test {

/// A bank whose accounts are in an SQLite database; it takes part in transfers. The payload of a
/// branch is `debit ACCOUNT CENTS` or `credit ACCOUNT CENTS`.
///
/// Every confirmed branch is written into a ledger, whose key lets it be there once only.
class transfer_bank final : public txn::participant {
public:
    static constexpr int accounts = 16;
    static constexpr std::int64_t initial_cents = 3'000;

    /// Makes the accounts if they are not there.
    transfer_bank(const asio::any_io_executor& executor, const std::filesystem::path& database);

    asio::awaitable<result<txn::reply>> carry_out(txn::call what) override;

    /// What a judge finds in the database of a bank at the end.
    struct books {
        std::int64_t cents = 0;     ///< In all accounts.
        std::int64_t reserved = 0;  ///< Taken from accounts, or promised to them, and not settled.
        std::int64_t branches_open = 0;
        std::set<std::int64_t> confirmed;  ///< The numbers of the transactions.
    };
    static books read_books(const std::filesystem::path& database);

private:
    db::sqlite session_;
};

}  // namespace mortise::test

#endif
