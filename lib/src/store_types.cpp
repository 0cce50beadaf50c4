// SPDX-License-Identifier: BSL-1.0
#include "mortise/store_types.hpp"

#include "seeded_random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace mortise {

random_id random_id::draw() {
    random_id id;
    if (auto* const seeded = detail::seeded_random::current()) {
        id.high = seeded->next();
        id.low = seeded->next();
    }
    while (!id) {
        // A draw of at most 256 bytes is never cut short; it waits until the kernel's pool is
        // ready.
        if (::getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id) && errno != EINTR)
            std::abort();  // Linux before 3.17, or a sandbox that forbids it: no id would be safe.
    }
    return id;
}

std::string random_id::text() const {
    char digits[33];
    std::snprintf(
        digits,
        sizeof digits,
        "%016llx%016llx",
        static_cast<unsigned long long>(high),
        static_cast<unsigned long long>(low)
    );
    return digits;
}

}  // namespace mortise
