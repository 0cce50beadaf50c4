// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_EVENT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_EVENT_HPP

#include <cstdint>
#include <span>

namespace flash_sale {

/// What a process tells the one that started it, on its standard output: these two bytes.
struct sale_event {
    enum class kind : char {
        holds = 'h',  ///< A buyer has the lock (rounds 3 and 4 only).
        sold = 's',
        refused = 'r',    ///< A writer came too late, and the fence or the lease said so.
        poor = 'p',       ///< A buyer had not enough money (round 4 only).
        delivered = 'd',  ///< A message has arrived (of the delivery only).
        repeated = 'a',   ///< And it had come before.
    };

    kind what = kind::sold;
    std::uint8_t process = 0;
};
static_assert(sizeof(sale_event) == 2);

/// To be called by the process of that number.
/// @throws std::runtime_error if nobody listens.
void tell(int process, sale_event::kind what);

int count(std::span<const sale_event> events, sale_event::kind what);

}  // namespace flash_sale

#endif
