// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_OUTCOME_HPP
#define MORTISE_STORE_SQLITE_OUTCOME_HPP

#include "mortise/store_types.hpp"

#include <vector>

namespace mortise::store_detail {

/// An event for this store's own client.
struct notice {
    notice() = default;

    store_event::kind kind = store_event::kind::look_again;
    request_id id = 0;
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
    bool contended = false;
    error_code why;
};

struct nothing {};

/// The result of a job on a worker thread: its answer, and what else it found out for the client.
template <class T>
class outcome {
public:
    outcome() = default;

    error_code code;
    T value{};
    std::vector<notice> notices;
};

}  // namespace mortise::store_detail

#endif
