// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_CONSUMER_CORE_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_CONSUMER_CORE_HPP

#include "consumer/group_offset.hpp"
#include "handle.hpp"
#include "mortise/error.hpp"
#include "mortise/kafka/consumed_record.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka::detail {

/// The group gives these partitions to the consumer, or takes them back. `take` or `release` must
/// answer.
class group_change {
public:
    group_change() = default;  // declared: no aggregate (docs/compilers.md, G3)
    group_change(bool gives, std::vector<topic_partition> all)
        : given(gives), partitions(std::move(all)) {}

    bool given = false;
    std::vector<topic_partition> partitions;
};

/// A failure. librdkafka goes on by itself, unless the report says `lost`.
class consumer_failure {
public:
    consumer_failure() = default;  // declared: no aggregate (docs/compilers.md, G3)

    topic_partition at;  ///< Without a topic: the whole consumer.
    error_code code;
    std::string text;
};

/// The result of a consumer's turn.
class consumer_report {
public:
    consumer_report() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<consumed_record> records;
    std::vector<group_change> changes;  ///< They happened after the records.
    /// No record before that offset is still to come.
    std::vector<std::pair<topic_partition, std::int64_t>> ends;
    std::vector<topic_partition> unsure;  ///< No longer read: their offset does not exist.
    std::vector<consumer_failure> failures;
    bool lost = false;  ///< The consumer must be replaced.

    bool empty() const noexcept {
        return records.empty() && changes.empty() && ends.empty() && unsure.empty() &&
               failures.empty() && !lost;
    }
};

/// The blocking half of a member of a consumer group. It reads, and decides nothing.
///
/// Turns must follow each other, or the group takes the member for dead. Records that were not
/// requested wait in librdkafka, which fetches ahead within its own limits.
///
/// @par Threads `request_stop`, `call`: any. All others: one, the consumer's own.
class consumer_core {
public:
    /// Connects to nobody yet. @throws mortise::error (`bad_config`)
    consumer_core(kafka_config config, const std::string& group, std::vector<std::string> topics);
    ~consumer_core();
    consumer_core(const consumer_core&) = delete;
    consumer_core& operator=(const consumer_core&) = delete;

    /// The last failure, for people.
    std::string trouble() { return handle_.says().trouble(); }

    /// Ends the running turn, or the next one.
    void call() noexcept;
    /// Ends the running operation soon, and later ones at once.
    void request_stop() noexcept;

    /// Waits up to half a second for something to report. Returns at most `rows` records; their
    /// size exceeds `bytes` by less than one record.
    consumer_report turn(std::size_t rows, std::size_t bytes);

    /// @throws boost::system::system_error
    std::string cluster_id();

    /// Answers an assignment: checks that the wanted offsets exist, and reads from there. `skip`
    /// passes over what retention has removed. `anew` means that the partitions were read before
    /// and that `starts` names all of them.
    /// @throws boost::system::system_error Nothing was done; or, with `anew`, perhaps no partition
    ///         is read any longer. Either way it can be called again.
    std::vector<start_offset> take(std::vector<start_offset> starts, bool skip, bool anew);

    /// Answers a revocation.
    void release(const std::vector<topic_partition>& partitions);

    /// Sends offsets to the group; does not wait for the answer.
    void commit(const std::vector<group_offset>& offsets) noexcept;
    /// Sends offsets to the group, and waits until it has them.
    /// @throws boost::system::system_error
    void announce(const std::vector<group_offset>& offsets);

    /// The present membership in the group; none if the assignment is lost. Any thread, but not
    /// during `close`.
    owned<rd_kafka_consumer_group_metadata_t> group_metadata();
    /// The offsets of the group; no value where it has none. @throws boost::system::system_error
    std::vector<start_offset> committed(const std::vector<topic_partition>& partitions);

    /// Leaves the group, in at most three seconds.
    void close() noexcept;

private:
    using list = owned<rd_kafka_topic_partition_list_t>;

    using queues = std::map<topic_partition, owned<rd_kafka_queue_t>>;

    static list list_of(const std::vector<topic_partition>& partitions);
    static list list_of(const std::vector<group_offset>& offsets);
    void join();
    void serve(consumer_report& into);
    void sort(const rd_kafka_message_t& message, consumer_report& into);
    void on_rebalance(int code, const rd_kafka_topic_partition_list_t& partitions);
    void gather(std::size_t rows, std::size_t bytes, consumer_report& into);
    owned<rd_kafka_queue_t> queue_of(const topic_partition& partition);
    void lead_to_records();
    std::vector<topic_partition> all_read() const;
    bool cooperative() const;
    void drop_all();
    void stir() noexcept;
    bool wait_stirred();
    int ask_ends(start_offset& start) const;
    void find_begin(start_offset& start, bool skip);
    bool was_read_past(const start_offset& start) const;
    void check(int code) const;

    const kafka_config config_;
    const std::vector<std::string> topics_;
    handle handle_;
    std::vector<group_change> changes_;
    queues reading_;
    /// The common queue for the records of all partitions. Records that were not requested stay in
    /// it, and the group is heard all the same. It is one queue for all because librdkafka limits
    /// each queue by itself.
    owned<rd_kafka_queue_t> records_;
    bool joined_ = false;
    bool closing_ = false;
    bool lost_ = false;

    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stirred_ = false;
    bool called_ = false;
};

}  // namespace mortise::kafka::detail

#endif
