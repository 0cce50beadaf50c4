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

/// For each source, the next offset.
using offsets = std::map<std::string, std::int64_t>;

/// Messages that were given to an inbox. One transaction handles them, unless they take long or a
/// handler spoils it.
///
/// @par Threads As for `trial`.
class delivery {
public:
    explicit delivery(std::vector<received> all) : messages(std::move(all)) {}

    bool is_done() const noexcept { return done == messages.size(); }
    /// Whether the stored offset of `source` is the one that this delivery last saw. If another
    /// deliverer moved it meanwhile, the remaining messages would be dropped as known.
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
    std::size_t done = 0;  ///< How many messages are committed.

private:
    offsets stands_;
};

}  // namespace mortise::outbox::inbox_detail

#endif
