// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_DELIVERY_BOOK_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_DELIVERY_BOOK_HPP

#include "mortise/kafka/transaction_outcome.hpp"
#include "owned.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka::detail {

/// The delivery results of one transaction, by the index of a record in the batch.
class delivery_book {
public:
    /// Begins a transaction of so many records. All reports of the last one must have come.
    void open(std::size_t records);

    /// The value that travels with a record and comes back in its report.
    static void* ticket(std::size_t index) noexcept;
    void on_report(const rd_kafka_message_t& message);

    /// Notes that `rd_kafka_producev` refused the record.
    void on_refusal(std::size_t index, int code);

    /// Notes that the record cannot be delivered, for a reason found elsewhere.
    void on_proof(std::size_t index, int code);

    record_position position(std::size_t index) const { return positions_.at(index); }
    std::size_t delivered() const noexcept { return delivered_; }

    /// Whether a record has failed; the transaction must then be aborted.
    bool failed() const noexcept { return failed_; }

    /// Records that are proved to be undeliverable, in order.
    const std::map<std::size_t, int>& guilty() const noexcept { return guilty_; }

    /// Records with an unknown topic, in order.
    const std::map<std::size_t, int>& away() const noexcept { return away_; }

    /// Decides about refused records, after all reports have come. A record that was refused alone
    /// is guilty. Several that were refused together prove nothing and become suspects.
    void judge();

    /// Records that a broker refused together. At least one is guilty, or they are only too large
    /// together.
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

}  // namespace mortise::kafka::detail

#endif
