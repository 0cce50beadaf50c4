// SPDX-License-Identifier: BSL-1.0
#include "store_url.hpp"

#include "mortise/error.hpp"

#include <algorithm>
#include <charconv>

namespace mortise {
namespace {

constexpr std::size_t url_size_max = 8192;

[[noreturn]] void refuse_text(std::string_view text, const std::string& remedy) {
    throw error(errc::bad_url, "\"" + without_passwords(text).substr(0, 200) + "\"", remedy);
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
            refuse_text(whole, "write a percent sign as %25");
        if (value == 0)
            refuse_text(whole, "a zero byte (%00) cannot be part of it");
        plain += static_cast<char>(value);
        i += 2;
    }
    return plain;
}

}  // namespace

// Rather too much than too little: a password may be written with characters that do not belong
// there.
std::string without_passwords(std::string_view url) {
    constexpr std::string_view stars = "***";
    constexpr std::string_view option = "password=";
    std::string shown(url);
    const auto begin = shown.find("//");
    const auto at = shown.rfind('@');
    if (begin != std::string::npos && at != std::string::npos && begin < at) {
        const auto colon = shown.find(':', begin);
        const auto from = colon < at ? colon + 1 : begin + 2;
        shown.replace(from, at - from, stars);
    }
    for (auto found = shown.find(option); found != std::string::npos;) {
        const auto from = found + option.size();
        shown.replace(from, std::min(shown.find('&', from), shown.size()) - from, stars);
        found = shown.find(option, from);
    }
    return shown;
}

std::string store_url::decode(std::string_view part) const {
    return decoded(part, text);
}

void store_url::refuse(const std::string& remedy) const {
    refuse_text(text, remedy);
}

store_url store_url::parse(std::string_view text) {
    if (text.size() > url_size_max)
        refuse_text(text, "use at most 8,192 bytes");
    if (text.find('\0') != std::string_view::npos)
        refuse_text(text, "a zero byte cannot be part of it");
    store_url url;
    url.text = without_passwords(text);
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0)
        refuse_text(text, "begin with a scheme and a colon, as in sqlite:locks.db");
    url.scheme = text.substr(0, colon);
    auto rest = text.substr(colon + 1);
    const auto mark = rest.find('?');
    url.raw_path = rest.substr(0, mark);
    url.path = decoded(url.raw_path, text);
    if (url.path.find('#') != std::string::npos && rest.substr(0, mark).find('#') != rest.npos)
        refuse_text(text, "write a # as %23");
    if (mark == std::string_view::npos)
        return url;
    rest = rest.substr(mark + 1);
    while (!rest.empty()) {
        const auto end = std::min(rest.find('&'), rest.size());
        const auto pair = rest.substr(0, end);
        const auto equals = pair.find('=');
        if (equals == std::string_view::npos || equals == 0)
            refuse_text(text, "write options as name=value, joined by &");
        const auto name = decoded(pair.substr(0, equals), text);
        if (!url.options_.emplace(name, decoded(pair.substr(equals + 1), text)).second)
            refuse_text(text, "give the option " + name + " once");
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
        refuse_text(text, "give the option " + std::string(name) + " a whole number");
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
    refuse_text(text, "give the option " + std::string(name) + " the value true or false");
}

void store_url::allow_options(std::initializer_list<std::string_view> known) const {
    for (const auto& [name, value] : options_) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            refuse_text(text, "the " + scheme + " store has no option \"" + name + "\"");
    }
}

}  // namespace mortise
