// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_FAILURE_HPP
#define MORTISE_MYSQL_FAILURE_HPP

#include "mortise/error.hpp"

#include <boost/mysql/diagnostics.hpp>

#include <string>

namespace mortise::db::detail {

/// Why something at the server did not work; no code if it did.
class mysql_failure {
public:
    mysql_failure() = default;
    mysql_failure(error_code why, std::string message, bool ends)
        : code(why), text(std::move(message)), ends_connection(ends) {}

    /// With the remedy for its code.
    error to_error() const;

    error_code code;
    std::string text;              ///< What the server said, or the system.
    bool ends_connection = false;  ///< The connection is of no use any longer.
};

/// The failure that Boost.MySQL reports, in our codes.
mysql_failure mysql_failure_of(const error_code& reported, const boost::mysql::diagnostics& notes);

/// Whether the server undid the transaction for the sake of another one: a repetition may succeed.
/// After such an error a part of the transaction, or all of it, is gone.
bool ends_transaction(const error_code& code) noexcept;

/// Whether the server cancelled the statement.
bool is_interruption(const error_code& code) noexcept;

}  // namespace mortise::db::detail

#endif
