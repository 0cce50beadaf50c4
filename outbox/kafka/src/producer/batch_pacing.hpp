// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_BATCH_PACING_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_BATCH_PACING_HPP

#include "mortise/kafka/transaction_outcome.hpp"
#include "producer/delivery_book.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mortise::kafka::detail {

/// Decides before which records of a batch everything is flushed. Records between two flushes may
/// reach a broker together, and a broker refuses records that came together as a whole. So a search
/// for guilty records separates them, until each one that is refused was refused alone.
class batch_pacing {
public:
    /// Begins an attempt: nothing is under way.
    void begin() { together_.clear(); }

    /// Whether to flush before this record, the one at `index` of its batch.
    bool pause_is_due(const record& record, std::size_t index);
    void on_pause() { together_.clear(); }
    void on_sent(const record& record);

    /// Separates records that were refused together: the next attempt sends them in halves, and the
    /// last one each record alone.
    void narrow(
        const transaction_batch& batch,
        const std::vector<delivery_book::group>& suspects,
        bool last_try
    );

    /// Ends the search. If it ended with a commit, no record was guilty, and the topics take less
    /// than what was sent together: remembers that.
    void end_search(bool committed);

private:
    /// Limits of the bytes sent together to topics that take less than the settings allow; the
    /// bytes under way; and sizes that were too much.
    std::map<std::string, std::size_t> together_max_;
    std::map<std::string, std::size_t> together_;
    std::map<std::string, std::size_t> too_much_;
    /// For the present batch: records before which everything is flushed, and topics whose records
    /// each go alone.
    std::set<std::size_t> pauses_;
    std::set<std::string> alone_;
};

}  // namespace mortise::kafka::detail

#endif
