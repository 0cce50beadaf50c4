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

std::string whoever(const std::string& label) {
    return (label.empty() ? this_program() : label) + ", process " +
           std::to_string(this_process()) + " on " + this_host();
}

}  // namespace mortise::detail
