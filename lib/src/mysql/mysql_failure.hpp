// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_MYSQL_FAILURE_HPP
#define MORTISE_MYSQL_MYSQL_FAILURE_HPP

#include "db/server_failure.hpp"
#include "mortise/db/column_value.hpp"
#include "mortise/db/query_result.hpp"

#include <boost/mysql/diagnostics.hpp>
#include <boost/mysql/field_view.hpp>
#include <boost/mysql/results.hpp>

#include <string>
#include <vector>

namespace mortise::db::detail {

/// Why something at the server did not work; no code if it did.
class mysql_failure {
public:
    mysql_failure() = default;
    mysql_failure(error_code why, std::string message, bool ends)
        : code(why), text(std::move(message)), ends_connection(ends) {}

    /// With the remedy for its code.
    error to_error() const;
    /// The same, without the password.
    server_failure explain(const std::string& password) const;

    error_code code;
    std::string text;              ///< The words of the server, or of the system.
    bool ends_connection = false;  ///< The connection is of no use any longer.
};

/// The failure that Boost.MySQL reports, in our codes.
mysql_failure mysql_failure_of(const error_code& reported, const boost::mysql::diagnostics& notes);

/// Whether the server undid the transaction for the sake of another one: a repetition may succeed.
/// After such an error a part of the transaction, or all of it, is gone.
bool ends_transaction(const error_code& code) noexcept;

/// The values as Boost.MySQL wants them; texts and blobs are referred to.
std::vector<boost::mysql::field_view> to_fields(const std::vector<column_value>& values);

/// The first result set of an answer. Dates, times and decimal numbers become text.
/// @throws error `column_type` for an unsigned number above 2^63 - 1
query_result to_query_result(const boost::mysql::results& found);

}  // namespace mortise::db::detail

#endif
