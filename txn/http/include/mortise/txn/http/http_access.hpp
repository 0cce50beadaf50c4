// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_ACCESS_HPP
#define MORTISE_TXN_HTTP_HTTP_ACCESS_HPP

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn {

/// A coordinator that may call, and the secret by which it is known.
class http_caller {
public:
    http_caller() = default;  // declared: no aggregate (docs/compilers.md, G3)
    http_caller(std::string who, std::string secret)
        : name(std::move(who)), token(std::move(secret)) {}

    /// For the errors of this configuration. The same name may stand there twice, with the old
    /// token and the new one, while tokens are being exchanged.
    std::string name;
    /// What it sends (`Authorization: Bearer TOKEN`): 16 to 1,024 visible characters,
    std::string token;
    /// or else the file whose only line that is. It is read once.
    std::filesystem::path token_file;
};

/// Who may call participants over HTTP.
class http_access {
public:
    http_access() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// Whoever sends none of their tokens is answered 401, and no participant hears of it.
    std::vector<http_caller> callers;

    /// Calls are taken from whoever can connect. Without callers this has to be said, unless only
    /// this host can connect, or the server asks for certificates of clients.
    bool allow_anyone = false;
};

}  // namespace mortise::txn

#endif
