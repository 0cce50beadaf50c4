// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_TRANSFER_LEDGER_HPP
#define MORTISE_TESTS_SUPPORT_TRANSFER_LEDGER_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace mortise::test {

/// The accounts of a bank that takes part in transfers, in an SQLite database. The payload of a
/// branch is `debit ACCOUNT CENTS` or `credit ACCOUNT CENTS`.
///
/// Account 0 is closed: a credit can be tried, and not be confirmed. Every confirmed branch is
/// written into a ledger, whose key lets it be there once only.
class transfer_ledger {
public:
    static constexpr int accounts = 16;
    static constexpr std::int64_t initial_cents = 3'000;

    /// What a payload asks for.
    struct order {
        bool debit = false;
        int account = 0;
        std::int64_t cents = 0;
    };
    static order order_in(const std::string& payload);

    /// Makes the accounts if they are not there.
    static void prepare(db::connection& on);

    /// Carries out the call, behind the barrier. A transaction must be open.
    static result<txn::reply> carry_out(db::connection& on, const txn::call& call);

    /// The figures that a judge compares at the end.
    struct books {
        std::int64_t cents = 0;     ///< In all accounts.
        std::int64_t reserved = 0;  ///< Taken from accounts, or promised to them, and not settled.
        std::int64_t branches_open = 0;
        std::set<std::int64_t> confirmed;  ///< The numbers of the transactions.
        std::set<std::int64_t> alone;      ///< Those that had no other branch.
    };
    static books read(db::connection& on);
};

/// Describes what is wrong with the books of two banks at the end, by the confirmations in the log;
/// empty if nothing is.
std::string judge_books(
    const transfer_ledger::books& here,
    const transfer_ledger::books& there,
    const std::set<std::int64_t>& confirmed
);

}  // namespace mortise::test

#endif
