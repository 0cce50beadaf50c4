// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_FAILURE_HPP
#define MORTISE_STORE_REDIS_REDIS_FAILURE_HPP

#include "mortise/error.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace mortise::store_detail {

/// Why a connection could not be opened, or is no more, or a command was refused.
struct redis_failure {
    redis_failure() = default;
    redis_failure(error_code why, std::string said) : code(why), text(std::move(said)) {}

    error_code code;
    std::string text;  ///< What the server or the system said; without secrets.
};

/// What an error that a server says means for a store: by the code in capitals that it begins with.
errc meaning_of_refusal(std::string_view said) noexcept;
/// Whether that refuses a command to this user, or to all (renamed), and not for the moment only.
bool refuses_user(errc meaning) noexcept;

/// What to do about a failure of that kind: a sentence without its end.
std::string_view redis_remedy(const error_code& code) noexcept;
/// The same where the server's words say more than the code.
std::string_view redis_remedy(const redis_failure& why) noexcept;

}  // namespace mortise::store_detail

#endif
