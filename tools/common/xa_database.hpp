// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_XA_DATABASE_HPP
#define MORTISE_TOOLS_COMMON_XA_DATABASE_HPP

#include "mortise/db/prepared_transaction.hpp"
#include "mortise/txn/branch_work.hpp"
#include "mortise/txn/xa_participant.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::tool {

namespace asio = boost::asio;

/// A database whose transactions can be prepared, of a kind that this program was built with.
class xa_database {
public:
    xa_database() = default;
    xa_database(const xa_database&) = delete;
    xa_database& operator=(const xa_database&) = delete;
    virtual ~xa_database() = default;

    /// @throws failure if the URL names none.
    static std::unique_ptr<xa_database>
    open(const asio::any_io_executor& on, const std::string& url, std::size_t connections);

    /// A participant for branches that bring their work along.
    virtual std::shared_ptr<txn::xa_participant> participant() = 0;
    /// The statements, as the work of a branch.
    virtual txn::branch_closure<void> branch(std::vector<std::string> statements) = 0;
    virtual asio::awaitable<void> run(std::string statement) = 0;
    /// Runs the statements in a transaction, and leaves it prepared.
    virtual asio::awaitable<void>
    prepare(db::prepared_name name, std::vector<std::string> statements) = 0;
    virtual asio::awaitable<void> commit(db::prepared_name name) = 0;
    virtual asio::awaitable<void> stop() = 0;
};

}  // namespace mortise::tool

#endif
