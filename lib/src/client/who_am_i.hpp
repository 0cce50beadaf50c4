// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_WHO_AM_I_HPP
#define MORTISE_CLIENT_WHO_AM_I_HPP

#include <cstdint>
#include <string>

namespace mortise::detail {

// Texts for people who ask who holds a lock. No decision depends on them.

std::string this_host();
std::string this_program();
std::int64_t this_process();
/// All three on one line; `label` instead of the program's name, if there is one.
std::string whoever(const std::string& label);

}  // namespace mortise::detail

#endif
