// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_INTERRUPTION_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_INTERRUPTION_HPP

namespace flash_sale {

/// Lets Ctrl-C and SIGTERM end the sale in good order: its temporary folder is removed, and what it
/// has started ends.
void listen_for_interruption();

/// @throws std::runtime_error if such a signal came. A signal ends one wait early at most, and none
/// if it comes between two, so whoever waits in a loop calls this in each turn.
void throw_if_interrupted();

}  // namespace flash_sale

#endif
