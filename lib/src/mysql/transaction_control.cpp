// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_call.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace mortise::db::detail {
namespace {

constexpr std::string_view enders[] = {
    "ALTER",  "ANALYZE",  "BEGIN", "CACHE",    "CHANGE",    "CHECK",  "COMMIT", "FLUSH",
    "GRANT",  "INSTALL",  "LOAD",  "LOCK",     "OPTIMIZE",  "RENAME", "REPAIR", "RESET",
    "REVOKE", "ROLLBACK", "START", "TRUNCATE", "UNINSTALL", "UNLOCK", "XA",
};
// They end no transaction if they are about a temporary table.
constexpr std::string_view definers[] = {"CREATE", "DROP"};

constexpr bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

constexpr bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Drops white space and comments at the beginning.
std::string_view from_first_word(std::string_view sql) noexcept {
    for (;;) {
        std::size_t skip = 0;
        while (skip < sql.size() && (is_space(sql[skip]) || sql[skip] == '('))
            ++skip;
        sql.remove_prefix(skip);
        if (sql.starts_with("/*!") || sql.starts_with("/*M!")) {
            // The server runs what is in such a comment, whose mark may have a version.
            sql.remove_prefix(sql[2] == 'M' ? 4 : 3);
            while (!sql.empty() && sql.front() >= '0' && sql.front() <= '9')
                sql.remove_prefix(1);
        } else if (sql.starts_with("/*")) {
            const auto end = sql.find("*/", 2);
            sql.remove_prefix(end == std::string_view::npos ? sql.size() : end + 2);
        } else if (sql.starts_with("#") || sql.starts_with("--")) {
            const auto end = sql.find('\n');
            sql.remove_prefix(end == std::string_view::npos ? sql.size() : end);
        } else {
            return sql;
        }
    }
}

bool equal(std::string_view word, std::string_view upper) noexcept {
    return std::equal(word.begin(), word.end(), upper.begin(), upper.end(), [](char a, char b) {
        return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b;
    });
}

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::string_view (&words)[Size]) noexcept {
    return std::any_of(std::begin(words), std::end(words), [word](std::string_view each) {
        return equal(word, each);
    });
}

std::string_view take_word(std::string_view& sql) noexcept {
    sql = from_first_word(sql);
    const auto end = std::find_if_not(sql.begin(), sql.end(), is_letter);
    const auto word = sql.substr(0, static_cast<std::size_t>(end - sql.begin()));
    sql.remove_prefix(word.size());
    return word;
}

// `SET [SESSION] autocommit`, `SET @@autocommit`; not `SET @autocommit`, a variable of the user's.
bool sets_autocommit(std::string_view rest) noexcept {
    constexpr std::string_view name = "AUTOCOMMIT";
    for (std::size_t i = 0; i + name.size() <= rest.size(); ++i) {
        if (!equal(rest.substr(i, name.size()), name))
            continue;
        const bool is_own = i > 0 && rest[i - 1] == '@' && (i < 2 || rest[i - 2] != '@');
        const bool is_part = i > 0 && is_letter(rest[i - 1]);
        if (!is_own && !is_part)
            return true;
    }
    return false;
}

}  // namespace

bool controls_mysql_transaction(std::string_view sql) noexcept {
    const auto first = take_word(sql);
    if (equal(first, "ROLLBACK")) {
        auto next = take_word(sql);
        if (equal(next, "WORK"))
            next = take_word(sql);
        return !equal(next, "TO");  // a savepoint
    }
    if (is_one_of(first, definers)) {
        auto next = take_word(sql);
        if (equal(next, "OR") && equal(take_word(sql), "REPLACE"))
            next = take_word(sql);
        return !equal(next, "TEMPORARY");
    }
    if (equal(first, "SET"))
        return sets_autocommit(sql);
    return is_one_of(first, enders);
}

}  // namespace mortise::db::detail
