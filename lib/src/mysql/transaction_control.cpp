// SPDX-License-Identifier: BSL-1.0
#include "db/sql_words.hpp"
#include "mysql/mysql_place.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace mortise::db::detail {
namespace {

constexpr std::string_view controlling[] = {"BEGIN", "COMMIT", "LOCK", "START", "UNLOCK"};
// They end a transaction that there is.
constexpr std::string_view enders[] = {
    "ALTER",
    "ANALYZE",
    "CACHE",
    "CHANGE",
    "CHECK",
    "FLUSH",
    "GRANT",
    "INSTALL",
    "LOAD",
    "OPTIMIZE",
    "RENAME",
    "REPAIR",
    "RESET",
    "REVOKE",
    "TRUNCATE",
    "UNINSTALL",
};

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::string_view (&words)[Size]) noexcept {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr bool is_part_of_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// `SET [SESSION] autocommit`, `SET @@autocommit`; not `SET @autocommit`, a variable of the user's.
bool sets_autocommit(std::string_view rest) {
    constexpr std::string_view name = "AUTOCOMMIT";
    const auto equal = [](char a, char b) {
        return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b;
    };
    auto at = rest.begin();
    for (;;) {
        at = std::search(at, rest.end(), name.begin(), name.end(), equal);
        if (at == rest.end())
            return false;
        const auto i = static_cast<std::size_t>(at - rest.begin());
        const bool is_own = i > 0 && rest[i - 1] == '@' && (i < 2 || rest[i - 2] != '@');
        const bool is_part = i > 0 && is_part_of_name(rest[i - 1]);
        if (!is_own && !is_part)
            return true;
        ++at;
    }
}

}  // namespace

bool mysql_place::controls_transaction(std::string_view sql, bool in_transaction) const {
    sql_words words(sql, sql_words::comments::executable);
    const auto first = words.next();
    if (first == "ROLLBACK") {
        auto next = words.next();
        if (next == "WORK")
            next = words.next();
        return next != "TO";  // a savepoint
    }
    if (first == "SET")
        return sets_autocommit(words.rest());
    if (first == "XA")
        return words.next() != "RECOVER";
    if (is_one_of(first, controlling))
        return true;
    if (!in_transaction)
        return false;
    if (first == "CREATE" || first == "DROP") {
        auto next = words.next();
        if (next == "OR" && words.next() == "REPLACE")
            next = words.next();
        return next != "TEMPORARY";  // ends no transaction
    }
    return is_one_of(first, enders);
}

}  // namespace mortise::db::detail
