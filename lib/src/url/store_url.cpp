// SPDX-License-Identifier: BSL-1.0
#include "url/store_url.hpp"

#include "mortise/detail/secret.hpp"
#include "mortise/error.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace mortise {
namespace {

constexpr std::size_t longest = std::size_t{1} << 53;  // ticks of a time

constexpr std::size_t url_size_max = 8192;

[[noreturn]] void refuse_text(std::string_view text, const std::string& remedy) {
    throw error(errc::bad_url, "\"" + without_passwords(text).substr(0, 200) + "\"", remedy);
}

// Checks the characters of a scheme, so that other text before a colon, such as a password, is not
// shown as a scheme.
bool is_scheme(std::string_view text) noexcept {
    constexpr std::string_view others = "0123456789+-._";
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !text.empty() && letter(text.front()) &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return letter(c) || others.find(c) != std::string_view::npos;
           });
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

// The position at which the hidden part of a login begins, if an @ follows; else npos.
std::size_t login_in(std::string_view url) {
    const auto at = url.find('@');
    const auto scheme_end = url.find(':');
    if (at == std::string_view::npos || url.starts_with("sqlite:") || url.starts_with("memory:"))
        return std::string_view::npos;
    if (scheme_end == std::string_view::npos || scheme_end > at)
        return 0;
    const auto begin = scheme_end + 1;
    if (!url.substr(begin).starts_with("//"))
        return begin;
    const auto colon = url.find(':', begin);
    return colon < at ? colon + 1 : begin + 2;
}

// The position of the next option value that may be a password; npos if there is none.
std::size_t password_in(std::string_view url, std::size_t after) {
    constexpr std::string_view names[] = {"password=", "passwd=", "pass=", "pwd="};
    const auto alike = [](char in_url, char in_name) {
        return (in_url >= 'A' && in_url <= 'Z' ? in_url - 'A' + 'a' : in_url) == in_name;
    };
    std::size_t first = std::string_view::npos;
    for (const auto name : names) {
        const auto rest = url.substr(std::min(after, url.size()));
        const auto found = std::search(rest.begin(), rest.end(), name.begin(), name.end(), alike);
        if (found != rest.end())
            first = std::min(first, static_cast<std::size_t>(found - url.begin()) + name.size());
    }
    return first;
}

std::string secret_in_variable(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    if (!value || *value == '\0')
        throw error(errc::bad_config, name, "set this variable of the environment to the password");
    return value;
}

std::uint16_t port_in(std::string_view digits, const store_url& url) {
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc() || end != digits.data() + digits.size() || port == 0)
        url.refuse("give a port from 1 to 65535");
    return port;
}

server_url::place place_in(std::string_view text, const store_url& url, std::uint16_t usual_port) {
    server_url::place place;
    place.port = usual_port;
    auto port_at = text.find(':');
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos)
            url.refuse("close the bracket around the address");
        place.host = url.decode(text.substr(1, end - 1));
        port_at = end + 1;
        if (port_at < text.size() && text[port_at] != ':')
            url.refuse("write a colon between address and port");
    } else {
        place.host = url.decode(text.substr(0, port_at));
    }
    if (port_at < text.size())
        place.port = port_in(text.substr(port_at + 1), url);
    if (place.host.empty())
        url.refuse("name a host, as in " + url.scheme + "://localhost");
    return place;
}

}  // namespace

// Hides too much rather than too little: a password may be written with characters that do not
// belong there, and the slashes before a login may be missing.
std::string without_passwords(std::string_view url) {
    constexpr std::string_view stars = "***";
    std::string shown(url);
    std::size_t from = login_in(url);
    if (const auto at = url.rfind('@'); from < at && at != std::string_view::npos) {
        std::size_t end = at;
        for (auto value = password_in(url, from); value <= at; value = password_in(url, value))
            end = std::max(end, std::min(url.find('&', value), url.size()));
        shown.replace(from, end - from, stars);
    }
    for (from = password_in(shown, 0); from <= shown.size(); from = password_in(shown, from)) {
        const auto end = std::min(shown.find('&', from), shown.size());
        shown.replace(from, end - from, stars);
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
    if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon)))
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

std::string store_url::secret(const std::string& name, std::string in_url) const {
    const auto file = option(name + "_file");
    const auto variable = option(name + "_env");
    if (!in_url.empty() + !file.empty() + !variable.empty() > 1)
        refuse("give the password once: in the URL, by " + name + "_file or by " + name + "_env");
    if (!file.empty())
        return detail::secret_in_file(file);
    if (!variable.empty())
        return secret_in_variable(variable);
    return in_url;
}

std::chrono::milliseconds
store_url::milliseconds(std::string_view name, std::chrono::milliseconds otherwise) const {
    const auto usual = static_cast<std::size_t>(otherwise.count());
    return std::chrono::milliseconds(std::min(number(name, usual), longest));
}

std::chrono::microseconds
store_url::microseconds(std::string_view name, std::chrono::microseconds otherwise) const {
    const auto usual = static_cast<std::size_t>(otherwise.count());
    return std::chrono::microseconds(std::min(number(name, usual), longest));
}

void store_url::allow_options(
    std::initializer_list<std::string_view> known,
    std::initializer_list<std::string_view> more,
    std::initializer_list<std::string_view> still_more
) const {
    for (const auto& option : options_) {
        const auto& name = option.first;
        const auto has = [&](std::initializer_list<std::string_view> names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (!has(known) && !has(more) && !has(still_more))
            refuse_text(text, "the " + scheme + " store has no option \"" + name + "\"");
    }
}

server_url server_url::parse(const store_url& url, std::uint16_t usual_port) {
    std::string_view authority;
    server_url server = login_and_path(url, authority);
    for (;;) {
        const auto comma = authority.find(',');
        server.places.push_back(place_in(authority.substr(0, comma), url, usual_port));
        if (comma == std::string_view::npos)
            return server;
        authority.remove_prefix(comma + 1);
    }
}

server_url server_url::parse_local(const store_url& url) {
    std::string_view authority;
    server_url server = login_and_path(url, authority);
    if (!authority.empty())
        url.refuse("leave the host out, as in " + url.scheme + ":///run/redis.sock");
    return server;
}

server_url server_url::login_and_path(const store_url& url, std::string_view& authority) {
    constexpr std::string_view slashes = "//";
    std::string_view rest = url.raw_path;
    if (!rest.starts_with(slashes))
        url.refuse("write two slashes before the host, as in " + url.scheme + "://localhost");
    rest.remove_prefix(slashes.size());
    const auto slash = rest.find('/');
    authority = rest.substr(0, slash);
    server_url server;
    if (slash != std::string_view::npos)
        server.path = url.decode(rest.substr(slash + 1));
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
        const auto login = authority.substr(0, at);
        const auto colon = login.find(':');
        server.user = url.decode(login.substr(0, colon));
        if (colon != std::string_view::npos)
            server.password = url.decode(login.substr(colon + 1));
        authority.remove_prefix(at + 1);
    }
    return server;
}

}  // namespace mortise
