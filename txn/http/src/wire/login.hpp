// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_LOGIN_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_LOGIN_HPP

#include "mortise/txn/http/http_access.hpp"
#include "mortise/txn/http/http_client_config.hpp"
#include "wire/http_message.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::http {

/// Returns the token of a configuration: the given one, or the one in the file.
/// @throws error (`bad_config`) for `name`, which never shows the token, if it is given twice or
///         not at all, has not `size_min` to 1,024 visible characters, or the file cannot be read.
std::string bearer_token(
    const std::string& given,
    const std::filesystem::path& file,
    const std::string& name,
    std::size_t size_min
);

/// The fields that a client adds to each request: the login and the headers of its configuration.
class extra_fields {
public:
    /// @throws error (`bad_config`) that names the field, and shows no value.
    explicit extra_fields(const http_client_config& config);

    void add_to(header_list& headers) const;

    /// Replaces each secret value in a text by `***`, because peers may repeat what they were sent.
    std::string without_values(std::string text) const;

private:
    header_list fields_;
    std::string token_;
};

/// Checks the token of a request. Keeps only digests of the known tokens.
///
/// The time of a check depends on the number of callers, and on the length of the token that was
/// sent. It depends on the bytes of no token.
class token_check {
public:
    /// @throws error (`bad_config`) that names the caller whose token is not valid, or whose file
    ///         cannot be read.
    explicit token_check(const std::vector<http_caller>& callers);

    bool admits(const header_list& headers) const noexcept;

    /// Makes the answer to a request without a valid token; `text` says why.
    static response refusal(std::string text);

private:
    using digest = std::array<unsigned char, 32>;
    static bool digest_of(std::string_view token, digest& into) noexcept;

    std::vector<digest> known_;
};

}  // namespace mortise::txn::http

#endif
