// SPDX-License-Identifier: BSL-1.0
#include "redis_model/words.hpp"

#include "redis_model/reply.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace mortise::redis_model {
namespace {

char to_upper(char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

char to_lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Removes a class such as `[a-c]` from the pattern, which starts after the bracket.
bool class_holds(std::string_view& pattern, char c) {
    const bool inverted = !pattern.empty() && pattern.front() == '^';
    if (inverted)
        pattern.remove_prefix(1);
    bool found = false;
    while (!pattern.empty() && pattern.front() != ']') {
        if (pattern.front() == '\\' && pattern.size() >= 2) {
            pattern.remove_prefix(1);
            found = found || pattern.front() == c;
        } else if (pattern.size() >= 3 && pattern[1] == '-') {
            const auto [low, high] = std::minmax(pattern[0], pattern[2]);
            found = found || (low <= c && c <= high);
            pattern.remove_prefix(2);
        } else {
            found = found || pattern.front() == c;
        }
        pattern.remove_prefix(1);
    }
    if (!pattern.empty())
        pattern.remove_prefix(1);
    return found != inverted;
}

bool matches_star(std::string_view rest, std::string_view text) {
    for (std::size_t skip = 0; skip <= text.size(); ++skip) {
        if (matches(rest, text.substr(skip)))
            return true;
    }
    return false;
}

}  // namespace

std::string upper(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), &to_upper);
    return result;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), &to_lower);
    return result;
}

bool is_word(std::string_view text, std::string_view word) {
    return text.size() == word.size() &&
           std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
               return to_upper(a) == b;
           });
}

std::optional<std::int64_t> to_integer(std::string_view text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed != std::errc() || stop != end || std::to_string(value) != text)
        return std::nullopt;
    return value;
}

std::int64_t integer_of(const std::string& text) {
    const auto value = to_integer(text);
    if (!value)
        throw refusal("ERR value is not an integer or out of range");
    return *value;
}

double real_of(const std::string& text) {
    char* stop = nullptr;
    errno = 0;
    const double value = std::strtod(text.c_str(), &stop);
    const bool too_far = errno == ERANGE && (std::isinf(value) || value == 0.0);
    const bool begins_well =
        !text.empty() && std::isspace(static_cast<unsigned char>(text.front())) == 0;
    if (!begins_well || stop != text.c_str() + text.size() || too_far || std::isnan(value))
        throw refusal("ERR value is not a valid float");
    return value;
}

std::string real_text(double value) {
    if (std::isinf(value))
        return value > 0 ? "inf" : "-inf";
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

std::optional<index_range> clip(std::int64_t first, std::int64_t last, std::size_t size) {
    const auto count = static_cast<std::int64_t>(size);
    const auto from_end = [count](std::int64_t index) { return index < 0 ? index + count : index; };
    first = std::max<std::int64_t>(from_end(first), 0);
    last = std::min(from_end(last), count - 1);
    if (first > last || first >= count)
        return std::nullopt;
    return index_range{static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

bool matches(std::string_view pattern, std::string_view text) {
    while (!pattern.empty()) {
        const char next = pattern.front();
        pattern.remove_prefix(1);
        if (next == '*')
            return matches_star(pattern, text);
        if (text.empty())
            return false;
        if (next == '[') {
            if (!class_holds(pattern, text.front()))
                return false;
        } else if (next != '?') {
            char literal = next;
            if (next == '\\' && !pattern.empty()) {
                literal = pattern.front();
                pattern.remove_prefix(1);
            }
            if (literal != text.front())
                return false;
        }
        text.remove_prefix(1);
    }
    return text.empty();
}

}  // namespace mortise::redis_model
