// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_EVENT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_EVENT_HPP

#include <cstdint>

namespace flash_sale {

/// What a process tells the one that started it, on its standard output: these two bytes.
struct sale_event {
    enum class kind : char {
        holds = 'h',  ///< A buyer has the lock (rounds 3 and 4 only).
        sold = 's',
        refused = 'r',  ///< A writer came too late, and the fence or the lease said so.
        poor = 'p',     ///< A buyer had not enough money (round 4 only).
    };

    kind what = kind::sold;
    std::uint8_t process = 0;
};
static_assert(sizeof(sale_event) == 2);

}  // namespace flash_sale

#endif
