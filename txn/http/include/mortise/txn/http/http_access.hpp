// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_ACCESS_HPP
#define MORTISE_TXN_HTTP_HTTP_ACCESS_HPP

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn {

/// A coordinator that may call, and the secret by which it is recognised.
class http_caller {
public:
    http_caller() = default;  // declared: no aggregate (docs/compilers.md, G3)
    http_caller(std::string who, std::string secret)
        : name(std::move(who)), token(std::move(secret)) {}

    /// The caller's name in the errors of this configuration. The same name may occur twice, with
    /// the old and the new token, while you replace tokens.
    std::string name;
    /// The token that it sends (`Authorization: Bearer TOKEN`): 16 to 1,024 visible characters.
    std::string token;
    /// Instead of `token`: a file whose only line is the token. It is read once.
    std::filesystem::path token_file;
};

/// Who may call participants over HTTP.
class http_access {
public:
    http_access() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The known callers. A request with none of their tokens is answered 401, and reaches no
    /// participant.
    std::vector<http_caller> callers;

    /// Takes calls from everyone who can connect. Required if there are no callers, unless only
    /// this host can connect, or the server asks for certificates of clients.
    bool allow_anyone = false;
};

}  // namespace mortise::txn

#endif
