// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_PROCESSOR_CONFIG_HPP
#define MORTISE_KAFKA_PROCESSOR_CONFIG_HPP

#include "mortise/kafka/consumed_record.hpp"
#include "mortise/kafka/consumer_config.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mortise::kafka {

/// Makes records out of one, on the processor's strand. `what` lives until it ends. It may be
/// called again with the same record, and is then to make the same of it.
using processor_handler =
    std::function<boost::asio::awaitable<std::vector<record>>(const consumed_record& what)>;

/// What a processor reads, what it makes of that, and as whom.
///
/// `auto.offset.reset` among the settings of `cluster` has no default here: without it a partition
/// for which the group has no offset is refused (`errc::no_offset`). That is so if the group is
/// new, and also if it was away for so long that its offsets have expired.
class processor_config : public consumer_config {
public:
    processor_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    using consumer_config::consumer_config;

    processor_handler handler;

    /// Of the processor's producer, 1 to 249 bytes: each processor that runs has one of its own,
    /// and keeps it over restarts. Then what the last run left in the middle is settled at once by
    /// the next, and not when its time is up.
    std::string transactional_id;

    /// How often a record is tried for which the handler throws: 1 to 1,000,000.
    std::uint32_t attempts_max = 10;

    /// Where a record goes for which the handler has thrown so often, or of which it makes what
    /// Kafka will never take, with headers that name its place and the reason. Empty, or if that is
    /// not taken either: the partition is refused at that record.
    std::string dead_letter_topic;
};

}  // namespace mortise::kafka

#endif
