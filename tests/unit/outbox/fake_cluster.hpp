// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_OUTBOX_FAKE_CLUSTER_HPP
#define MORTISE_TESTS_UNIT_OUTBOX_FAKE_CLUSTER_HPP

#include "mortise/outbox/sink.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::test {

/// A broker as a relay sees it, in the memory of the test: messages and marks. Those of a batch
/// come together, and a relay that opens a shard fences the earlier ones.
///
/// @par Threads Any.
class fake_cluster {
public:
    enum class fault {
        lost_before,  ///< Nothing arrives, and nobody knows that.
        lost_after,   ///< All of it arrives, and nobody knows that.
        again,        ///< Nothing arrives.
        cannot_open,  ///< The next `open` fails.
        hang,         ///< The answer never comes, until it is cancelled.
    };

    /// For `relay_config::sink`.
    outbox::sink_factory factory();

    void fail_next(fault next);
    /// Faults that nobody has met yet.
    std::size_t faults_left() const;
    /// Messages with such a payload are refused for ever, as long as this is so.
    void refuse(std::optional<std::string> payload);

    /// A topic is not there, or is again.
    void set_away(const std::string& topic, bool away = true);
    /// So often it was asked for.
    std::size_t asked() const;

    /// More messages than that at once do not arrive, but may be sent again.
    void set_batch_max(std::size_t messages);

    std::vector<outbox::outgoing> messages() const;
    std::vector<std::string> payloads() const;
    /// Of one key, in their order.
    std::vector<std::string> payloads_of(const std::string& key) const;
    std::size_t size() const;
    std::optional<outbox::mark> mark_of(std::uint32_t shard) const;
    std::size_t batches() const;
    std::size_t opened() const;

    // Deeds of the broker's operators.
    void forget_marks();
    void set_identity(std::string id);
    void set_mark(std::uint32_t shard, const outbox::mark& to);
    /// In the place of the mark stands something else, until the next one is written.
    void spoil_mark(std::uint32_t shard);
    void set_idle_max(std::chrono::milliseconds span) { idle_max_ = span; }

private:
    friend class fake_sink;
    struct shard_state {
        std::uint64_t epoch = 0;
        std::optional<outbox::mark> last;
        bool spoiled = false;
    };

    std::optional<fault> take_fault(bool opening);

    mutable std::mutex mutex_;
    std::map<std::uint32_t, shard_state> shards_;
    std::vector<outbox::outgoing> messages_;
    std::deque<fault> faults_;
    std::optional<std::string> refused_;
    std::set<std::string> away_;
    std::size_t asked_ = 0;
    std::string identity_ = "cluster-1";
    std::size_t batch_max_ = std::numeric_limits<std::size_t>::max();
    std::size_t batches_ = 0;
    std::size_t opened_ = 0;
    std::chrono::milliseconds idle_max_{0};
};

}  // namespace mortise::test

#endif
