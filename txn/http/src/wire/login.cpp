// SPDX-License-Identifier: BSL-1.0
#include "wire/login.hpp"

#include "mortise/detail/require.hpp"
#include "mortise/detail/secret.hpp"
#include "mortise/error.hpp"
#include "wire/fields.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

namespace mortise::txn::http {

std::string bearer_token(
    const std::string& given,
    const std::filesystem::path& file,
    const std::string& name,
    std::size_t size_min
) {
    if (given.empty() == file.empty()) {
        throw error(
            mortise::errc::bad_config, name, "give it once: as it is, or by the file that holds it"
        );
    }
    const auto token = file.empty() ? given : mortise::detail::secret_in_file(file);
    const bool visible = std::all_of(token.begin(), token.end(), [](char each) {
        return each > ' ' && each <= '~';
    });
    if (token.size() < size_min || token.size() > 1'024 || !visible) {
        const auto few = std::to_string(size_min);
        throw error(mortise::errc::bad_config, name, "use " + few + " to 1,024 visible characters");
    }
    return token;
}

namespace {

constexpr std::size_t fields_max = 64;
constexpr std::size_t value_max = 4'096;
constexpr std::size_t secret_min = 8;  // a shorter value may be part of an ordinary word

// Whether a field is ours, or controls the message or its connection. A second value of such a
// field would allow request smuggling.
bool is_reserved(std::string_view name) noexcept {
    constexpr std::string_view ours = "mortise-";
    if (same_name(name.substr(0, ours.size()), ours))
        return true;
    constexpr std::string_view others[] = {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "traceparent",
        "trailer",
        "transfer-encoding",
        "upgrade",
    };
    for (const auto each : others) {
        if (same_name(name, each))
            return true;
    }
    return false;
}

void check(const std::string& name, const std::string& value, bool has_token) {
    const auto refuse = [&](const char* remedy) {
        // A malformed name may contain anything, even a secret: do not show it.
        const auto shown = is_field_name(name) ? "the header " + name : "the name of a header";
        throw error(mortise::errc::bad_config, shown, remedy);
    };
    if (!is_field_name(name))
        refuse("use letters, digits and !#$%&'*+-.^_`|~");
    if (is_reserved(name))
        refuse("use another name: this one is set by mortise");
    if (has_token && same_name(name, fields::authorization))
        refuse("leave it out, or the token");
    if (!is_field_value(value) || value.size() > value_max)
        refuse("give it a value of 1 to 4,096 visible characters, with blanks inside only");
}

}  // namespace

extra_fields::extra_fields(const http_client_config& config) {
    const bool has_token = !config.token.empty() || !config.token_file.empty();
    if (has_token) {
        token_ = bearer_token(config.token, config.token_file, "token", 1);
        fields_.add(fields::authorization, "Bearer " + token_);
    }
    mortise::detail::require(config.headers.size() <= fields_max, "headers", "use 64 at most");
    for (const auto& [name, value] : config.headers) {
        check(name, value, has_token);
        fields_.add(name, value);
    }
}

void extra_fields::add_to(header_list& headers) const {
    for (const auto& [name, value] : fields_)
        headers.add(name, value);
}

std::string extra_fields::without_values(std::string text) const {
    text = mortise::detail::without_secret(std::move(text), token_);
    for (const auto& [name, value] : fields_) {
        if (value.size() >= secret_min)
            text = mortise::detail::without_secret(std::move(text), value);
    }
    return text;
}

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
    response answer(401, std::move(text));
    answer.headers.add("www-authenticate", "Bearer");
    return answer;
}

}  // namespace mortise::txn::http
