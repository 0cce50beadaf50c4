// SPDX-License-Identifier: BSL-1.0
#include "store/redis/lock_buckets.hpp"

namespace mortise::store_detail {

proof_number lock_buckets::of(std::string_view name) const noexcept {
    constexpr std::uint64_t offset = 14'695'981'039'346'656'037u;
    constexpr std::uint64_t prime = 1'099'511'628'211u;
    std::uint64_t hash = offset;
    for (const char each : name)
        hash = (hash ^ static_cast<unsigned char>(each)) * prime;
    const auto folded = static_cast<std::uint32_t>(hash + (hash >> 32));
    return folded % count_;
}

}  // namespace mortise::store_detail
