// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_RECOVERY_HPP
#define MORTISE_TXN_COORDINATOR_RECOVERY_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/ends_during_reads.hpp"
#include "coordinator/running.hpp"
#include "log/log_entries.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::txn::detail {

/// Finishes what an earlier coordinator left behind, in portions, and forgets what ended long ago.
///
/// @par Threads The strand.
class recovery final : coordinator_part {
public:
    /// Whether to call a branch once more that is stuck in the log, or to leave it stuck.
    enum class stuck_ones : std::uint8_t { ask, keep };

    recovery(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// Takes up the next portions, because there may be room again.
    void recover();
    void recover(partition& at);
    /// Resumes a transaction. One whose records cannot be read stays in the log, for people.
    void take_up(partition& at, const log::logged& found, stuck_ones choice = stuck_ones::ask);
    /// Marks a transaction that will take long, so that the recovery need not wait for it.
    void mark_slow(running& transaction);

    /// Counts the end of a transaction, and cleans up from time to time.
    void note_end();
    /// Forgets transactions that ended long ago.
    void purge();

private:
    void recovered(
        partition& at,
        error_code failed,
        const std::vector<log::logged>& found,
        bool all,
        const ends_during_reads::read& read
    );
    static void keep_stuck(running& transaction, const std::vector<bool>& stuck, steps& next);
    /// Reads which transactions have ended, for the calls of participants.
    void learn_ends();
    void search_ends(log::ends_search so_far);

    std::size_t ends_since_ = 0;   ///< Ends since the last cleaning.
    std::size_t ends_untold_ = 0;  ///< Ends since the log was last read for participants.
    std::size_t open_seen_ = 0;    ///< Open transactions that were read then.
    std::uint64_t purged_to_ = 0;  ///< Where the next portion of the purge begins.
    bool learning_ = false;
    bool purging_ = false;
};

}  // namespace mortise::txn::detail

#endif
