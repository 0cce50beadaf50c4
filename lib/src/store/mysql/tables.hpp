// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_TABLES_HPP
#define MORTISE_STORE_MYSQL_TABLES_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// The format of the tables. Clients of the same format work together.
inline constexpr std::int64_t mysql_format = 1;

/// The statements that make the tables, each with what it is for; all of them may be repeated. They
/// need the right to create tables, and nothing else.
std::vector<std::string> mysql_tables();

/// The text that makes a store of the tables, if they are none yet.
/// @param wanted the domain of its tokens; empty: one made from the random id of the store.
std::string mysql_first_rows(const std::string& wanted);

}  // namespace mortise::store_detail

#endif
