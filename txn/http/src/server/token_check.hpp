// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_SERVER_TOKEN_CHECK_HPP
#define MORTISE_TXN_HTTP_SRC_SERVER_TOKEN_CHECK_HPP

#include "mortise/txn/http/http_access.hpp"
#include "wire/http_message.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace mortise::txn::http {

/// Tells those who may call from those who may not, by what they send. Of the tokens it keeps
/// digests only.
///
/// How long it takes depends on the number of callers and on the length of what is sent, and on
/// neither of the tokens.
class token_check {
public:
    /// @throws error (`bad_config`) that names the caller whose token is no good, or whose file
    ///         cannot be read.
    explicit token_check(const std::vector<http_caller>& callers);

    bool admits(const header_list& headers) const noexcept;

    /// What is answered to others; `text` says why.
    static response refusal(std::string text);

private:
    using digest = std::array<unsigned char, 32>;
    static bool digest_of(std::string_view token, digest& into) noexcept;

    std::vector<digest> known_;
};

}  // namespace mortise::txn::http

#endif
