// SPDX-License-Identifier: BSL-1.0
#include "wire/extra_fields.hpp"

#include "mortise/detail/require.hpp"
#include "mortise/detail/secret.hpp"
#include "wire/bearer_token.hpp"
#include "wire/field_names.hpp"
#include "wire/field_values.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace mortise::txn::http {
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

}  // namespace mortise::txn::http
