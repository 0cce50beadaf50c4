// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LOCK_MODE_HPP
#define MORTISE_LOCK_MODE_HPP

#include <cstdint>

namespace mortise {

/// How a lock is held: by one, by many readers, or by as many as it has permits.
class lock_mode {
public:
    enum class kind : std::uint8_t { exclusive, shared, permits };

    constexpr lock_mode() noexcept = default;

    static constexpr lock_mode exclusive() noexcept { return {}; }
    static constexpr lock_mode shared() noexcept { return lock_mode(kind::shared, 0); }

    /// Largest number of permits that a lock can have.
    static constexpr std::uint32_t capacity_max = 65'535;

    /// At most `capacity` holders at a time, each on a slot of its own. All that ask for one lock
    /// at a time must name the same capacity, from 1 to `capacity_max`.
    static constexpr lock_mode permits(std::uint32_t capacity) noexcept {
        return lock_mode(kind::permits, capacity);
    }

    constexpr kind type() const noexcept { return type_; }

    /// The number of permits; zero for the other modes.
    constexpr std::uint32_t capacity() const noexcept { return capacity_; }

    friend constexpr bool operator==(const lock_mode&, const lock_mode&) noexcept = default;

private:
    constexpr lock_mode(kind form, std::uint32_t capacity) noexcept
        : type_(form), capacity_(capacity) {}

    kind type_ = kind::exclusive;
    std::uint32_t capacity_ = 0;
};

}  // namespace mortise

#endif
