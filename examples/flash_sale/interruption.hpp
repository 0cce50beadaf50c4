// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_INTERRUPTION_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_INTERRUPTION_HPP

namespace flash_sale {

/// Makes Ctrl-C and SIGTERM end the sale in good order: it removes its temporary folder, and ends
/// the processes that it started.
void listen_for_interruption();

/// @throws std::runtime_error if such a signal came. A signal ends at most one wait early, and none
/// if it comes between two waits. A loop that waits must call this in each turn.
void throw_if_interrupted();

}  // namespace flash_sale

#endif
