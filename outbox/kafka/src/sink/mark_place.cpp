// SPDX-License-Identifier: BSL-1.0
#include "sink/mark_place.hpp"

#include <charconv>
#include <system_error>

namespace mortise::kafka {
namespace {

template <class Number>
bool read(std::string_view text, Number& into) noexcept {
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, into);
    return failed == std::errc() && end == last && into >= 0;
}

}  // namespace

std::string place_text(const record_position& at) {
    return std::to_string(at.partition) + ":" + std::to_string(at.offset);
}

std::optional<record_position> parse_place(std::string_view text) {
    const auto colon = text.find(':');
    record_position at;
    if (colon == std::string_view::npos || !read(text.substr(0, colon), at.partition) ||
        !read(text.substr(colon + 1), at.offset))
        return std::nullopt;
    return at;
}

}  // namespace mortise::kafka
