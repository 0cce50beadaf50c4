// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_FAILURE_HPP
#define MORTISE_STORE_REDIS_REDIS_FAILURE_HPP

#include "mortise/error.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace mortise::store_detail {

/// Why a connection could not be opened, why it ended, or why a command was refused.
struct redis_failure {
    redis_failure() = default;
    redis_failure(error_code why, std::string message) : code(why), text(std::move(message)) {}

    error_code code;
    std::string text;  ///< What the server or the system said; without secrets.
};

/// The meaning for a store of an error from a server, by the words that it begins with.
errc meaning_of_refusal(std::string_view message) noexcept;
/// Whether a node of a cluster says that another one has the key, or that it serves nobody.
bool is_elsewhere(std::string_view message) noexcept;
/// Whether a node of a cluster says that the key is being moved.
bool is_in_motion(std::string_view message) noexcept;
/// Whether a refusal of this meaning lasts: the command is forbidden to this user, or to all
/// (renamed).
bool refuses_user(errc meaning) noexcept;

/// What to do about a failure: a sentence without its end.
std::string_view redis_remedy(const error_code& code) noexcept;
/// The same; the server's words sometimes say more than the code.
std::string_view redis_remedy(const redis_failure& why) noexcept;

}  // namespace mortise::store_detail

#endif
