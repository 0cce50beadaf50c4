// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_URL_STORE_URL_HPP
#define MORTISE_URL_STORE_URL_HPP

#include "mortise/open_store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mortise {

/// A store URL in its parts: `scheme:path?name=value&...`, with `%XX` decoded.
///
/// Every fault is an `error` that names the text at fault; its code is `bad_url`, or that of the
/// rule that a value breaks.
class store_url {
public:
    /// @throws error
    static store_url parse(std::string_view text);

    std::string text;  ///< As it was given, but without passwords: for messages.
    std::string scheme;
    std::string path;
    std::string raw_path;  ///< The path before it was decoded.

    /// The value of an option; empty if it is not there.
    std::string option(std::string_view name) const;
    std::size_t number(std::string_view name, std::size_t otherwise) const;
    bool flag(std::string_view name) const;

    /// A password from the one place that names it: the URL itself (`in_url`), the file of the
    /// option `NAME_file`, or the variable of the environment of the option `NAME_env`.
    /// @throws error `bad_url`, `bad_config`, without the password in its text.
    std::string secret(const std::string& name, std::string in_url) const;

    /// A number of milliseconds, or `otherwise` if the option is not there. One that is too long
    /// for any setting is limited, so that it is refused with the other settings.
    std::chrono::milliseconds
    milliseconds(std::string_view name, std::chrono::milliseconds otherwise) const;
    /// The same of microseconds.
    std::chrono::microseconds
    microseconds(std::string_view name, std::chrono::microseconds otherwise) const;

    /// The text with each `%XX` decoded.
    std::string decode(std::string_view part) const;

    [[noreturn]] void refuse(const std::string& remedy) const;

    /// Refuses unknown options: a misspelt one must not be ignored.
    void allow_options(
        std::initializer_list<std::string_view> known,
        std::initializer_list<std::string_view> more = {},
        std::initializer_list<std::string_view> still_more = {}
    ) const;

private:
    std::map<std::string, std::string, std::less<>> options_;
};

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
    /// The same without a host, for a server that listens at a path: `//[user[:password]@]/path`.
    static server_url parse_local(const store_url& url);

    std::string user;
    std::string password;
    std::vector<place> places;  ///< At least one, unless it is local.
    std::string path;           ///< Without the slash that it begins with.

private:
    /// @return a URL without places, which the rest of the authority names.
    static server_url login_and_path(const store_url& url, std::string_view& authority);
};

}  // namespace mortise

#endif
