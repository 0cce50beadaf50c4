// SPDX-License-Identifier: BSL-1.0
#include "store_url.hpp"

#include "mortise/error.hpp"

#include <algorithm>
#include <charconv>

namespace mortise {
namespace {

constexpr std::size_t url_size_max = 8192;

[[noreturn]] void refuse(std::string_view text, const std::string& remedy) {
    throw error(errc::bad_url, "\"" + std::string(text.substr(0, 200)) + "\"", remedy);
}

std::string decoded(std::string_view part, std::string_view whole) {
    std::string plain;
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] != '%') {
            plain += part[i];
            continue;
        }
        unsigned value = 0;
        const auto digits = part.substr(i + 1, 2);
        const auto [end, wrong] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 2 || wrong != std::errc() || end != digits.data() + 2)
            refuse(whole, "write a percent sign as %25");
        if (value == 0)
            refuse(whole, "a zero byte (%00) cannot be part of it");
        plain += static_cast<char>(value);
        i += 2;
    }
    return plain;
}

}  // namespace

store_url store_url::parse(std::string_view text) {
    if (text.size() > url_size_max)
        refuse(text, "use at most 8,192 bytes");
    if (text.find('\0') != std::string_view::npos)
        refuse(text, "a zero byte cannot be part of it");
    store_url url;
    url.text = text;
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0)
        refuse(text, "begin with a scheme and a colon, as in sqlite:locks.db");
    url.scheme = text.substr(0, colon);
    auto rest = text.substr(colon + 1);
    const auto mark = rest.find('?');
    url.path = decoded(rest.substr(0, mark), text);
    if (url.path.find('#') != std::string::npos && rest.substr(0, mark).find('#') != rest.npos)
        refuse(text, "write a # as %23");
    if (mark == std::string_view::npos)
        return url;
    rest = rest.substr(mark + 1);
    while (!rest.empty()) {
        const auto end = std::min(rest.find('&'), rest.size());
        const auto pair = rest.substr(0, end);
        const auto equals = pair.find('=');
        if (equals == std::string_view::npos || equals == 0)
            refuse(text, "write options as name=value, joined by &");
        const auto name = decoded(pair.substr(0, equals), text);
        if (!url.options_.emplace(name, decoded(pair.substr(equals + 1), text)).second)
            refuse(text, "give the option " + name + " once");
        rest = rest.substr(std::min(end + 1, rest.size()));
    }
    return url;
}

std::string store_url::option(std::string_view name) const {
    const auto found = options_.find(name);
    return found == options_.end() ? std::string() : found->second;
}

std::size_t store_url::number(std::string_view name, std::size_t otherwise) const {
    const auto found = options_.find(name);
    if (found == options_.end())
        return otherwise;
    std::size_t value = 0;
    const auto& digits = found->second;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (wrong != std::errc() || end != digits.data() + digits.size() || digits.empty())
        refuse(text, "give the option " + std::string(name) + " a whole number");
    return value;
}

bool store_url::flag(std::string_view name) const {
    const auto found = options_.find(name);
    if (found == options_.end())
        return false;
    const auto& value = found->second;
    if (value == "0" || value == "false")
        return false;
    if (value == "1" || value == "true")
        return true;
    refuse(text, "give the option " + std::string(name) + " the value true or false");
}

void store_url::allow_options(std::initializer_list<std::string_view> known) const {
    for (const auto& [name, value] : options_) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            refuse(text, "the " + scheme + " store has no option \"" + name + "\"");
    }
}

}  // namespace mortise
