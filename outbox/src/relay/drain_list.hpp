// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_DRAIN_LIST_HPP
#define MORTISE_OUTBOX_SRC_RELAY_DRAIN_LIST_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/relay.hpp"
#include "table/shards.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace mortise::outbox::detail {

/// The callers that wait until everything is sent.
///
/// @par Threads The relay's strand.
class drain_list {
public:
    /// When a drain stops waiting for a shard:
    struct wanted {
        std::uint64_t read = 0;  ///< when a later read of ours finds nothing,
        std::int64_t row = 0;    ///< or when the table's mark reaches this row,
        bool look = false;       ///< unless we first look for missing topics.
    };
    using waits = std::map<std::uint32_t, wanted>;

    /// Adds a caller for whom the shards must be read first.
    void add_early(code_handler handler) { early_.push_back(std::move(handler)); }
    std::size_t count_early() const noexcept { return early_.size(); }
    /// Removes the first of these callers, at most `count`.
    std::vector<code_handler> take_early(std::size_t count);

    /// Begins to wait for these shards; completes at once if there are none.
    void add(code_handler handler, waits shards);
    bool empty() const noexcept { return drains_.empty(); }

    /// A read of the shard found nothing to send.
    void emptied(std::uint32_t shard, std::uint64_t read);
    /// Ends waits for rows that another relay has sent, which its purge shows, or that are parked,
    /// or whose shard is done or empty.
    void marks_seen(const std::vector<table::open_shard>& shards);
    /// An operator must decide about the shard.
    void stuck(std::uint32_t shard, error_code why);
    /// Completes all waits, early ones too.
    void answer(error_code why);

private:
    struct drain {
        waits shards;
        code_handler handler;
    };

    template <class Ended>
    void end_waits(Ended ended);

    std::vector<drain> drains_;
    std::vector<code_handler> early_;
};

}  // namespace mortise::outbox::detail

#endif
