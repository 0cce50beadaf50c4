// SPDX-License-Identifier: BSL-1.0
#include "wire/base_url.hpp"

#include "mortise/error.hpp"
#include "wire/fields.hpp"

#include <algorithm>
#include <utility>

namespace mortise::txn::http {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string remedy) {
    // The text before an @ may be a password: do not show it.
    const auto shown = text.substr(text.rfind('@') + 1);
    throw error(mortise::errc::bad_url, std::string(shown), std::move(remedy));
}

bool is_letter_or_digit(char each) noexcept {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9');
}

bool is_host(std::string_view host) noexcept {
    return !host.empty() && host.size() <= 253 &&
           std::all_of(host.begin(), host.end(), [](char each) {
               return is_letter_or_digit(each) || each == '-' || each == '.' || each == '_';
           });
}

bool is_ipv6(std::string_view host) noexcept {
    return !host.empty() && host.size() <= 45 &&
           std::all_of(host.begin(), host.end(), [](char each) {
               return is_letter_or_digit(each) || each == ':' || each == '.';
           });
}

bool is_path(std::string_view path) noexcept {
    static constexpr std::string_view others = "/-._~%!$&'()*+,;=:@";
    return std::all_of(path.begin(), path.end(), [](char each) {
        return is_letter_or_digit(each) || others.find(each) != std::string_view::npos;
    });
}

std::uint16_t port_in(std::string_view whole, std::string_view digits) {
    const auto port = decimal(digits, 65'535);
    if (!port || *port == 0)
        refuse(whole, "a port is a number from 1 to 65535");
    return static_cast<std::uint16_t>(*port);
}

}  // namespace

base_url base_url::parse(std::string_view text) {
    constexpr std::string_view plain = "http://";
    constexpr std::string_view secure = "https://";
    constexpr std::uint16_t secure_port = 443;
    base_url url;
    url.tls = text.substr(0, secure.size()) == secure;
    if (!url.tls && text.substr(0, plain.size()) != plain)
        refuse(text, "write https://host:port/path, or http:// without TLS");
    if (url.tls)
        url.port = secure_port;
    const auto rest = text.substr(url.tls ? secure.size() : plain.size());
    const auto slash = std::min(rest.find_first_of("/?#"), rest.size());
    auto place = rest.substr(0, slash);
    auto path = rest.substr(slash);
    if (place.find('@') != std::string_view::npos)
        refuse(text, "leave out user and password: a token is sent (http_client_config::token)");
    if (path.find_first_of("?#") != std::string_view::npos)
        refuse(text, "leave out what follows ? or #: the name of the call comes behind the path");
    if (!is_path(path))
        refuse(text, "write other bytes of the path than letters, digits and -._~ as %XX");
    while (!path.empty() && path.back() == '/')
        path.remove_suffix(1);

    url.path = path;
    url.authority = place;
    if (!place.empty() && place.front() == '[') {
        const auto end = place.find(']');
        url.host = end == std::string_view::npos ? "" : place.substr(1, end - 1);
        place = end == std::string_view::npos ? "" : place.substr(end + 1);
        if (!is_ipv6(url.host) || (!place.empty() && place.front() != ':'))
            refuse(text, "write an address of IPv6 in brackets: http://[::1]:8080");
    } else {
        const auto colon = std::min(place.find(':'), place.size());
        url.host = place.substr(0, colon);
        place = place.substr(colon);
        if (!is_host(url.host))
            refuse(text, "name a host by letters, digits, -, . and _");
    }
    if (!place.empty())
        url.port = port_in(text, place.substr(1));
    return url;
}

}  // namespace mortise::txn::http
