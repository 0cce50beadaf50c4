// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_DELIVERY_BOOK_HPP
#define MORTISE_KAFKA_SRC_DELIVERY_BOOK_HPP

#include "mortise/kafka/transaction_outcome.hpp"
#include "owned.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka {

/// What became of the records of one transaction, by their index in the batch.
class delivery_book {
public:
    /// For a transaction of so many records. Reports of the one before have all come.
    void open(std::size_t records);

    /// What travels with a record and comes back in its report.
    static void* ticket(std::size_t index) noexcept;
    void on_report(const rd_kafka_message_t& message);

    /// `rd_kafka_producev` refused it.
    void on_refusal(std::size_t index, int code);

    /// It is known by other means that it cannot be delivered.
    void on_proof(std::size_t index, int code);

    record_position position(std::size_t index) const { return positions_.at(index); }
    std::size_t delivered() const noexcept { return delivered_; }

    /// Whether anything has failed, so that the transaction must be aborted.
    bool failed() const noexcept { return failed_; }

    /// Records that are proved to be undeliverable, in order.
    const std::map<std::size_t, int>& guilty() const noexcept { return guilty_; }

    /// Records whose topic was unknown, in order.
    const std::map<std::size_t, int>& away() const noexcept { return away_; }

    /// Proves what can be proved: of several that were refused together, nothing, but one that was
    /// refused alone is guilty. To be called when all reports have come.
    void judge();

    /// Records that a broker refused together: one or more of them are guilty, or they are too
    /// large only together.
    struct group {
        std::string topic;
        std::vector<std::size_t> indexes;  ///< In order.
        bool too_large = false;
    };
    const std::vector<group>& suspects() const noexcept { return suspects_; }

private:
    using batch_key = std::pair<std::string, std::int32_t>;  // topic, partition

    bool failed_ = false;
    std::size_t delivered_ = 0;
    std::vector<record_position> positions_;
    std::map<std::size_t, int> guilty_;
    std::map<std::size_t, int> away_;
    std::map<batch_key, std::map<std::size_t, int>> refused_together_;
    std::vector<group> suspects_;
};

}  // namespace mortise::kafka

#endif
