// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_PG_MESSAGE_HPP
#define MORTISE_POSTGRES_PG_MESSAGE_HPP

#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/error.hpp"

#include <libpq-fe.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres_detail {

struct result_deleter {
    void operator()(PGresult* result) const noexcept { ::PQclear(result); }
};
using owned_result = std::unique_ptr<PGresult, result_deleter>;

/// Why a connection could not be opened or was lost, or why a statement failed.
class pg_failure {
public:
    pg_failure() = default;
    pg_failure(error_code why, std::string message) : code(why), text(std::move(message)) {}

    explicit operator bool() const noexcept { return code.failed(); }

    error_code code;
    std::string text;  ///< The server's or libpq's words; without secrets.
};

/// What to do about a failure of the connection itself; the server's own hints are in its words.
const char* remedy_of(const error_code& code) noexcept;

/// An `error` to throw.
std::exception_ptr exception_of(const pg_failure& why);

/// One statement of a message.
class pg_step {
public:
    pg_step() = default;
    explicit pg_step(db::bound_sql statement, bool last = true)
        : sql(std::move(statement)), ends(last) {}

    db::bound_sql sql;
    /// Whether a Sync follows. If the statements since the last one began no transaction of their
    /// own, they are one: it ends here. When one of them fails, the server skips the others.
    bool ends = true;
};

/// The server's answer to one step.
class pg_answer {
public:
    db::query_result result;
    std::string tag;     ///< The command that was done, such as "COMMIT".
    pg_failure failure;  ///< For a step that was skipped, that of the one which failed.
};

/// The answer to a message.
class pg_reply {
public:
    /// The connection was lost before the whole answer came, or the message was refused unsent.
    /// What the server did is unknown, unless nothing was sent.
    pg_failure failure;
    bool sent = true;
    bool cancelled = false;          ///< A cancellation was asked for while it was under way.
    std::vector<pg_answer> answers;  ///< One for each step, if there is no `failure`.

    /// `failure`, or that of the first step that failed.
    const pg_failure& first_failure() const noexcept;
};

/// The parameters of one statement as libpq takes them. Numbers and text go as text, so that the
/// server gives each the type that the statement asks for.
class pg_parameters {
public:
    /// Refers to the texts and bytes of `values`.
    explicit pg_parameters(const std::vector<db::column_value>& values);

    int count() const noexcept { return static_cast<int>(values_.size()); }
    const char* const* values() const noexcept { return values_.data(); }
    const int* lengths() const noexcept { return lengths_.data(); }
    const int* formats() const noexcept { return formats_.data(); }

private:
    std::vector<std::string> numbers_;
    std::vector<const char*> values_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

/// Why a statement cannot be sent; no failure if it can.
pg_failure refusal_of(const db::bound_sql& sql);

/// A result of the server as rows and values: integers and booleans as integers, floating numbers
/// as `double`, `bytea` as a blob, all other types as the server writes them.
db::query_result rows_of(const PGresult& found);

/// The failure that a result reports. Words that repeat a secret lose it.
pg_failure failure_of(const PGresult& failed, const std::string& secret);

/// Whether a failure of this result ends the connection.
bool ends_connection(const PGresult& failed) noexcept;

}  // namespace mortise::postgres_detail

#endif
