// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LOCK_TOKEN_HPP
#define MORTISE_LOCK_TOKEN_HPP

#include "mortise/fencing_token.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise {

/// A lock and the token of its grant, for calls and messages that carry them to the place where
/// tokens are compared.
class lock_token {
public:
    lock_token() = default;  // declared: no aggregate (docs/compilers.md, G3)
    lock_token(std::string lock, fencing_token held) : name(std::move(lock)), token(held) {}
    friend bool operator==(const lock_token&, const lock_token&) = default;

    /// `NAME; DOMAIN; TOKEN`, as it stands in a header. Of the name, bytes other than letters,
    /// digits and `-._~` are written as `%XX`.
    std::string text() const;
    /// @return nothing if the text is not of that form; spaces around the parts do not matter.
    static std::optional<lock_token> parse(std::string_view text);

    std::string name;
    fencing_token token;
};

}  // namespace mortise

#endif
