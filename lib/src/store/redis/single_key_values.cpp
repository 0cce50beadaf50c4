// SPDX-License-Identifier: BSL-1.0
#include "store/redis/single_key_values.hpp"

#include "mortise/detail/text.hpp"
#include "store/redis/words.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace mortise::store_detail {
namespace {

constexpr std::size_t id_size = 40;

}  // namespace

std::string single_key_id(const session_id& session, request_id request) {
    constexpr std::size_t of_session = 24;
    return session.text().substr(0, of_session) + detail::hexadecimal(request);
}

std::string single_key_channel(std::string_view key) {
    return "mortise:released:" + std::string(key);
}

// Uses 48 bits of the hash, so that there is room for the marks that are drawn later.
fencing_token single_key_mark(std::string_view value) noexcept {
    std::array<unsigned char, SHA_DIGEST_LENGTH> sum{};
    ::SHA1(reinterpret_cast<const unsigned char*>(value.data()), value.size(), sum.data());
    std::uint64_t base = 0;
    for (std::size_t at = 0; at < 6; ++at)
        base = base << 8 | sum[at];
    return {std::max<std::uint64_t>(base, 1) << fencing_token::sequence_bits, token_domain()};
}

fencing_token single_key_token(std::string_view value, const token_domain& domain) noexcept {
    if (domain.empty() || value.size() <= id_size || value[id_size] != ':' ||
        !detail::is_hexadecimal(value.substr(0, id_size)))
        return single_key_mark(value);
    words number(value.substr(id_size + 1));
    const auto base = number.base();
    if (number.failed() || !number.at_end())
        return single_key_mark(value);
    return {base << fencing_token::sequence_bits, domain};
}

}  // namespace mortise::store_detail
