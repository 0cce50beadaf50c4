// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_EVENT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_EVENT_HPP

#include <cstdint>
#include <span>

namespace flash_sale {

/// What a process reports to its parent, on its standard output: these two bytes.
struct sale_event {
    enum class kind : char {
        holds = 'h',  ///< A buyer has the lock (rounds 3 and 4 only).
        sold = 's',
        refused = 'r',    ///< A late writer, refused by the fence or the lease.
        poor = 'p',       ///< A buyer had too little money (round 4 only).
        delivered = 'd',  ///< A message has arrived (delivery only).
        repeated = 'a',   ///< It had arrived before.
    };

    kind type = kind::sold;
    std::uint8_t process = 0;
};
static_assert(sizeof(sale_event) == 2);

/// Writes an event of process number `process`.
/// @throws std::runtime_error if nobody reads it.
void tell(int process, sale_event::kind type);

int count(std::span<const sale_event> events, sale_event::kind type);

}  // namespace flash_sale

#endif
