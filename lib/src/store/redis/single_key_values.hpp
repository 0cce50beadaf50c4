// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SINGLE_KEY_VALUES_HPP
#define MORTISE_STORE_REDIS_SINGLE_KEY_VALUES_HPP

#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::store_detail {

// The value at the key of a lock in the single-key form, and the channel that tells its release.

/// The id of a request: 40 hexadecimal digits that no other request has.
std::string single_key_id(const session_id& session, request_id request);

/// The channel on which the release of `key` is told. The scripts know this name, too.
std::string single_key_channel(std::string_view key);

/// A number that stands for the value of a key, whatever client wrote it. It is a token without a
/// domain: it names a grant, and no fence takes it.
fencing_token single_key_mark(std::string_view value) noexcept;

/// The token in a value that one of our clients wrote with a token; otherwise the value's mark.
fencing_token single_key_token(std::string_view value, const token_domain& domain) noexcept;

/// The domain of the tokens if the settings name none. It survives a flush, as the tokens do.
inline constexpr std::string_view single_key_domain = "redis-key";

/// The key that counts the tokens, without the prefix. No lock has this name.
inline constexpr std::string_view single_key_counter = "mortise:tokens";

}  // namespace mortise::store_detail

#endif
