// SPDX-License-Identifier: BSL-1.0
#include "mortise/store_types.hpp"

#include "base/seeded_random.hpp"
#include "mortise/detail/text.hpp"

#include <sys/random.h>

#include <cerrno>
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
    return detail::hexadecimal(high) + detail::hexadecimal(low);
}

}  // namespace mortise
