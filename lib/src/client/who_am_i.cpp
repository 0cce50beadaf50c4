// SPDX-License-Identifier: BSL-1.0
#include "client/who_am_i.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace mortise::detail {

std::string this_host() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string this_program() {
    return program_invocation_short_name;
}

std::int64_t this_process() {
    return ::getpid();
}

}  // namespace mortise::detail
