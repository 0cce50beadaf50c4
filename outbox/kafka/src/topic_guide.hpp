// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_TOPIC_GUIDE_HPP
#define MORTISE_KAFKA_SRC_TOPIC_GUIDE_HPP

#include "owned.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace mortise::kafka {

/// Asks for a topic before the first record goes there. A topic that does not exist, or may not be
/// used, is found out before anything was sent; and librdkafka 2.0 lets the first record to a topic
/// that was never asked for wait for a second.
class topic_guide {
public:
    /// `go_on` is asked between tries whether to go on.
    topic_guide(
        rd_kafka_t* handle, std::chrono::milliseconds wait_max, std::function<bool()> go_on
    );

    /// Zero if records can go to that partition of the topic (to any, if absent); else why not.
    int check(const std::string& topic, std::optional<std::int32_t> partition);

    /// Everything is asked for anew.
    void forget() noexcept { known_.clear(); }

private:
    struct known_topic {
        owned<rd_kafka_topic_t> topic;  ///< As long as it is there librdkafka keeps what it knows.
        int partitions = 0;
    };

    int ask(const std::string& name, known_topic& into);
    int ask_once(known_topic& into, std::chrono::milliseconds wait);

    rd_kafka_t* const handle_;
    const std::chrono::milliseconds wait_max_;
    const std::function<bool()> go_on_;
    std::map<std::string, known_topic> known_;
};

}  // namespace mortise::kafka

#endif
