// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_BASE_URL_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_BASE_URL_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::txn::http {

/// The parts of a peer's URL: `http://host:port/path`, or the same with `https`.
class base_url {
public:
    base_url() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// @throws error (`bad_url`) that says what is wrong.
    static base_url parse(std::string_view text);

    bool tls = false;
    std::string host;  ///< A name, or an address; without the brackets of IPv6.
    std::uint16_t port = 80;
    std::string path;       ///< Empty, or it begins with a slash; it does not end in one.
    std::string authority;  ///< The value of the header `host`.
};

}  // namespace mortise::txn::http

#endif
