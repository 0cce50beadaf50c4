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

/// Makes records out of one record, on the processor's strand. `record` is valid until the handler
/// ends. The handler may be called again with the same record, and must then make the same records.
using processor_handler =
    std::function<boost::asio::awaitable<std::vector<record>>(const consumed_record& record)>;

/// Configuration of a processor.
///
/// `auto.offset.reset` has no default here. Without it, a partition is refused (`errc::no_offset`)
/// if the group has no offset for it. That happens to a new group, and to a group that was away for
/// so long that its offsets have expired.
class processor_config : public consumer_config {
public:
    processor_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    using consumer_config::consumer_config;

    processor_handler handler;

    /// The transactional id of the processor's producer, 1 to 249 bytes. Each running processor
    /// needs an id of its own and must keep it over restarts. Then the next run settles an
    /// unfinished transaction of the last one at once, and not after a timeout.
    std::string transactional_id;

    /// How often a record is tried if the handler throws: 1 to 1,000,000.
    std::uint32_t attempts_max = 10;

    /// The topic for a record whose last attempt threw, or from which the handler makes a record
    /// that Kafka will never take. Headers name its position and the reason. If this is empty, or
    /// if the dead letter is refused as well, the partition is refused at that record.
    std::string dead_letter_topic;
};

}  // namespace mortise::kafka

#endif
