// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_INBOX_DELIVERY_HPP
#define MORTISE_OUTBOX_SRC_INBOX_DELIVERY_HPP

#include "inbox/trial.hpp"
#include "mortise/outbox/received.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::inbox_detail {

/// By source, the offset that comes next.
using offsets = std::map<std::string, std::int64_t>;

/// Messages that were given to an inbox: in one transaction, unless they take long or a handler
/// spoils that.
///
/// @par Threads As `trial`.
class delivery {
public:
    explicit delivery(std::vector<received> all) : messages(std::move(all)) {}

    bool is_done() const noexcept { return done == messages.size(); }
    /// What stood there when these messages came, or where they have brought it. Anything else was
    /// somebody else, in between: of what comes later in the source, and what is left of these
    /// would be taken for known. @return whether it is so.
    bool finds(const std::string& source, std::int64_t next) {
        return stands_.emplace(source, next).first->second == next;
    }
    void passed(std::size_t reached, const offsets& next) {
        done = reached;
        for (const auto& [source, offset] : next)
            stands_[source] = offset;
        tries.passed();
    }

    std::vector<received> messages;
    trial tries;
    std::size_t done = 0;  ///< So many are committed.

private:
    offsets stands_;
};

}  // namespace mortise::outbox::inbox_detail

#endif
