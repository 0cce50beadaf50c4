// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_SERVER_TOKEN_CHECK_HPP
#define MORTISE_TXN_HTTP_SRC_SERVER_TOKEN_CHECK_HPP

#include "mortise/txn/http/http_access.hpp"
#include "wire/http_message.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace mortise::txn::http {

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
