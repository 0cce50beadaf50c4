// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/mark.hpp"

#include "mortise/detail/text.hpp"
#include "table/key_hash.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace mortise::outbox {
namespace {

constexpr std::string_view version = "mortise-mark-2";
constexpr std::string_view version_without_layout = "mortise-mark-1";
constexpr std::size_t parts_max = 9;

std::string checksum(std::string_view text) {
    return std::to_string(table::key_hash(text));
}

template <class Number>
bool read(std::string_view text, Number& into) noexcept {
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, into);
    return !text.empty() && failed == std::errc() && end == last;
}

}  // namespace

std::string mark::text() const {
    std::string text(layout.empty() ? version_without_layout : version);
    for (const auto& each :
         {mortise::detail::percent_encoded(table),
          std::to_string(generation),
          std::to_string(shard),
          std::to_string(sequence),
          std::to_string(row),
          mortise::detail::percent_encoded(message)})
        text += ' ' + each;
    if (!layout.empty())
        text += ' ' + mortise::detail::percent_encoded(layout);
    return text + ' ' + checksum(text);
}

std::optional<mark> mark::parse(std::string_view text) {
    const bool has_layout = text.substr(0, version.size()) == version;
    const std::size_t count = has_layout ? parts_max : parts_max - 1;
    std::array<std::string_view, parts_max> parts;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (at > text.size())
            return std::nullopt;
        const auto end = text.find(' ', at);
        parts[i] = text.substr(at, end == std::string_view::npos ? end : end - at);
        at = end == std::string_view::npos ? text.size() + 1 : end + 1;
    }
    const auto sum = parts[count - 1];
    const auto sum_at = text.size() - sum.size();
    if (at <= text.size() || parts[0] != (has_layout ? version : version_without_layout) ||
        sum_at == 0 || sum != checksum(text.substr(0, sum_at - 1)))
        return std::nullopt;
    mark result;
    const auto table = mortise::detail::percent_decoded(parts[1]);
    const auto message = mortise::detail::percent_decoded(parts[6]);
    if (!table || !message || !read(parts[2], result.generation) || !read(parts[3], result.shard) ||
        !read(parts[4], result.sequence) || !read(parts[5], result.row))
        return std::nullopt;
    result.table = *table;
    result.message = *message;
    if (has_layout) {
        const auto layout = mortise::detail::percent_decoded(parts[7]);
        if (!layout || layout->empty())
            return std::nullopt;
        result.layout = *layout;
    }
    return result;
}

}  // namespace mortise::outbox
