// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_POSTGRES_POSTGRES_SCHEMA_HPP
#define MORTISE_STORE_POSTGRES_POSTGRES_SCHEMA_HPP

#include "store/sql/sql_server.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// The format of the tables that this library writes.
inline constexpr std::int64_t postgres_format = 1;

/// The schema and its tables, as one transaction without its begin and end. What is there stays as
/// it is.
/// @param domain of the tokens; empty: made from a random number.
std::vector<std::string>
postgres_tables(std::string_view schema, std::string_view domain, bool with_schema);

/// A name in quotes, for SQL.
std::string quoted_name(std::string_view name);

/// A statement with its abbreviations written out: `{us}` the server's time in microseconds,
/// `{able}` and `{lives}` the conditions for session `s`, `{mine}` that for a plain lock `l` with
/// the parameters $1 name, $2 session, $3 request, $4 base, `{free}` that nobody watches.
std::string expanded(std::string_view text);

}  // namespace mortise::store_detail

#endif
