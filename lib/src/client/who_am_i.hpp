// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_WHO_AM_I_HPP
#define MORTISE_CLIENT_WHO_AM_I_HPP

#include <cstdint>
#include <string>

namespace mortise::detail {

// What is shown to people who ask who holds a lock. No decision rests on any of it.

std::string this_host();
std::string this_program();
std::int64_t this_process();
/// All three on one line; `label` instead of the program's name, if there is one.
std::string whoever(const std::string& label);

}  // namespace mortise::detail

#endif
