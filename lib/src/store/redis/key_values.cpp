// SPDX-License-Identifier: BSL-1.0
#include "store/redis/key_values.hpp"

#include "store/redis/words.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace mortise::store_detail {
namespace {

constexpr std::size_t id_size = 40;

bool is_hex(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
}

}  // namespace

std::string key_id(const session_id& session, request_id request) {
    static constexpr char digits[] = "0123456789abcdef";
    constexpr std::size_t of_session = 24;
    std::string id = session.text().substr(0, of_session);
    for (int shift = 60; shift >= 0; shift -= 4)
        id += digits[(request >> shift) & 15];
    return id;
}

std::string key_channel(std::string_view key) {
    return "mortise:released:" + std::string(key);
}

// Uses 48 bits of the hash, so that there is room for the marks that are drawn later.
fencing_token key_mark(std::string_view value) noexcept {
    std::array<unsigned char, SHA_DIGEST_LENGTH> sum{};
    ::SHA1(reinterpret_cast<const unsigned char*>(value.data()), value.size(), sum.data());
    std::uint64_t base = 0;
    for (std::size_t at = 0; at < 6; ++at)
        base = base << 8 | sum[at];
    return {std::max<std::uint64_t>(base, 1) << fencing_token::sequence_bits, token_domain()};
}

fencing_token key_token(std::string_view value, const token_domain& domain) noexcept {
    if (domain.empty() || value.size() <= id_size || value[id_size] != ':' ||
        !is_hex(value.substr(0, id_size)))
        return key_mark(value);
    words number(value.substr(id_size + 1));
    const auto base = number.base();
    if (number.failed() || !number.at_end())
        return key_mark(value);
    return {base << fencing_token::sequence_bits, domain};
}

}  // namespace mortise::store_detail
