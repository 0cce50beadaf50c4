// SPDX-License-Identifier: BSL-1.0
#include "url/server_url.hpp"

#include <charconv>
#include <string_view>

namespace mortise {
namespace {

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

server_url server_url::parse(const store_url& url, std::uint16_t usual_port) {
    constexpr std::string_view slashes = "//";
    std::string_view rest = url.raw_path;
    if (!rest.starts_with(slashes))
        url.refuse("write two slashes before the host, as in " + url.scheme + "://localhost");
    rest.remove_prefix(slashes.size());
    const auto slash = rest.find('/');
    auto authority = rest.substr(0, slash);
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
    for (;;) {
        const auto comma = authority.find(',');
        server.places.push_back(place_in(authority.substr(0, comma), url, usual_port));
        if (comma == std::string_view::npos)
            return server;
        authority.remove_prefix(comma + 1);
    }
}

}  // namespace mortise
