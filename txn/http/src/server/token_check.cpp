// SPDX-License-Identifier: BSL-1.0
#include "server/token_check.hpp"

#include "mortise/error.hpp"
#include "wire/bearer_token.hpp"
#include "wire/field_names.hpp"
#include "wire/field_values.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <new>
#include <utility>

namespace mortise::txn::http {
namespace {

constexpr std::size_t size_min = 16;  // a shorter token can be guessed

}  // namespace

token_check::token_check(const std::vector<http_caller>& callers) {
    known_.reserve(callers.size());
    for (const auto& each : callers) {
        const auto token =
            bearer_token(each.token, each.token_file, "the token of " + each.name, size_min);
        if (!digest_of(token, known_.emplace_back()))
            throw std::bad_alloc();
    }
}

bool token_check::digest_of(std::string_view token, digest& into) noexcept {
    unsigned size = 0;
    return ::EVP_Digest(token.data(), token.size(), into.data(), &size, ::EVP_sha256(), nullptr) ==
               1 &&
           size == into.size();
}

bool token_check::admits(const header_list& headers) const noexcept {
    constexpr std::string_view scheme = "Bearer ";
    const auto sent = headers.one(fields::authorization).value_or(std::string_view());
    if (!same_name(sent.substr(0, scheme.size()), scheme))
        return false;
    digest shown{};
    if (!digest_of(sent.substr(scheme.size()), shown))
        return false;
    unsigned found = 0;  // compare all, so that the time does not depend on which one matches
    for (const auto& each : known_)
        found |= ::CRYPTO_memcmp(each.data(), shown.data(), shown.size()) == 0 ? 1u : 0u;
    return found != 0;
}

response token_check::refusal(std::string text) {
    response made(401, std::move(text));
    made.headers.add("www-authenticate", "Bearer");
    return made;
}

}  // namespace mortise::txn::http
