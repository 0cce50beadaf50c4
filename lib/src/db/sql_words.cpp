// SPDX-License-Identifier: BSL-1.0
#include "db/sql_words.hpp"

#include <algorithm>

namespace mortise::db::detail {
namespace {

// With the quotation mark that may begin a name.
constexpr std::string_view spaces = " \t\r\n\f\v;(\"";

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::string sql_words::next() {
    skip();
    std::string word;
    while (!rest_.empty() && is_letter(rest_.front())) {
        const char c = rest_.front();
        word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        rest_.remove_prefix(1);
    }
    return word;
}

void sql_words::skip() noexcept {
    do
        rest_.remove_prefix(std::min(rest_.find_first_not_of(spaces), rest_.size()));
    while (skip_comment());
}

bool sql_words::skip_comment() noexcept {
    const bool own = style_ == comments::executable;
    if (rest_.starts_with("--") || (own && rest_.starts_with("#"))) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (own && (rest_.starts_with("/*!") || rest_.starts_with("/*M!"))) {
        rest_.remove_prefix(rest_.find('!') + 1);
        rest_.remove_prefix(std::min(rest_.find_first_not_of("0123456789"), rest_.size()));
    } else if (rest_.starts_with("/*")) {
        skip_to_end_of_comment();
    } else {
        return false;
    }
    return true;
}

void sql_words::skip_to_end_of_comment() noexcept {
    int depth = 0;
    do {
        const bool opens = rest_.starts_with("/*") && (style_ == comments::nested || depth == 0);
        const bool closes = rest_.starts_with("*/");
        depth += (opens ? 1 : 0) - (closes ? 1 : 0);
        rest_.remove_prefix(opens || closes ? 2 : 1);
    } while (depth > 0 && !rest_.empty());
}

}  // namespace mortise::db::detail
