// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_URL_SERVER_URL_HPP
#define MORTISE_URL_SERVER_URL_HPP

#include "url/store_url.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise {

/// The part after the scheme in the URL of a server:
/// `//[user[:password]@]host[:port][,host[:port]...][/path]`, with `%XX` decoded in each part. An
/// address with colons stands in brackets.
class server_url {
public:
    struct place {
        std::string host;
        std::uint16_t port = 0;
    };

    /// @throws error `bad_url`, without passwords in its text.
    static server_url parse(const store_url& url, std::uint16_t usual_port);

    std::string user;
    std::string password;
    std::vector<place> places;  ///< At least one.
    std::string path;           ///< Without the slash that it begins with.
};

}  // namespace mortise

#endif
