// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_KEY_VALUES_HPP
#define MORTISE_STORE_REDIS_KEY_VALUES_HPP

#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::store_detail {

// What stands at the key of a lock in the single-key form, and where its release is told.

/// 40 hexadecimal digits, of which no other request has the same.
std::string key_id(const session_id& session, request_id request);

/// Where whoever frees that key says so. The scripts know it, too.
std::string key_channel(std::string_view key);

/// A number that stands for a value: whatever client it is of. A token without a domain: it names a
/// grant, and no fence takes it.
fencing_token key_mark(std::string_view value) noexcept;

/// The token in a value, if it is one of ours that has one; else its mark.
fencing_token key_token(std::string_view value, const token_domain& domain) noexcept;

/// What a domain is called if nobody says it. It survives a flush: so do the tokens.
inline constexpr std::string_view key_domain = "redis-key";

/// After the prefix: the key that counts the tokens. No lock has this name.
inline constexpr std::string_view key_counter = "mortise:tokens";

}  // namespace mortise::store_detail

#endif
