// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_XA_BANK_HPP
#define MORTISE_TESTS_CHAOS_XA_BANK_HPP

#include "mortise/txn/participant.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace mortise::test {

namespace asio = boost::asio;

/// A bank at a database server whose branches are prepared there. The payload of a try is
/// `debit ACCOUNT CENTS` or `credit ACCOUNT CENTS`; `inside ACCOUNT CENTS` moves money to account 1
/// of this bank, and `look ACCOUNT 0` only reads. The server has the tables of `xa_bank_tables`.
std::shared_ptr<txn::participant>
make_xa_bank(const asio::any_io_executor& executor, const std::string& url);

/// The statements that make its accounts, each with `xa_bank_cents`, and an empty ledger.
inline constexpr const char* xa_bank_tables[] = {
    "CREATE TABLE account(id INT PRIMARY KEY, cents BIGINT NOT NULL)",
    "INSERT INTO account VALUES (1, 10000), (2, 10000), (3, 10000), (4, 10000), (5, 10000),"
    " (6, 10000), (7, 10000), (8, 10000), (9, 10000), (10, 10000), (11, 10000), (12, 10000),"
    " (13, 10000), (14, 10000), (15, 10000), (16, 10000)",
    "CREATE TABLE ledger(number BIGINT, branch BIGINT, cents BIGINT, PRIMARY KEY (number, branch))",
};

}  // namespace mortise::test

#endif
