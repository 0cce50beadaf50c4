// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_TOPIC_GUIDE_HPP
#define MORTISE_KAFKA_SRC_TOPIC_GUIDE_HPP

#include "mortise/coro/clock.hpp"
#include "owned.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::kafka {

class handle;

/// Asks for a topic before the first record goes there. A topic that does not exist, or may not be
/// used, is found out before anything was sent; and librdkafka 2.0 lets the first record to a topic
/// that was never asked for wait for a second.
class topic_guide {
public:
    /// `go_on` is asked between tries whether to go on. `missing_max`: how long a topic may be
    /// missing before that is the answer; one that was is not waited for again.
    topic_guide(
        const handle& by,
        std::chrono::milliseconds wait_max,
        std::chrono::milliseconds missing_max,
        std::function<bool()> go_on
    );

    /// Zero if records can go to that partition of the topic (to any, if absent); else why not.
    int check(const std::string& topic, std::optional<std::int32_t> partition);

    /// Everything is asked for anew.
    void forget() noexcept { known_.clear(); }

    /// A topic was given partitions since it was first asked for: keys go elsewhere.
    struct growth {
        std::string topic;
        int before = 0;
        int now = 0;
    };
    /// What was found out since this was last called.
    std::vector<growth> take_growths();

private:
    struct known_topic {
        owned<rd_kafka_topic_t> topic;  ///< As long as it is there librdkafka keeps what it knows.
        int partitions = 0;
        clock::time_point asked{};
    };

    int ask(const std::string& name, known_topic& into);
    int ask_until_clear(known_topic& into, bool wait_if_missing);
    int ask_once(known_topic& into, std::chrono::milliseconds wait);
    void note_partitions(const std::string& name, int now);

    const handle& by_;
    const std::chrono::milliseconds wait_max_;
    const std::chrono::milliseconds missing_max_;
    const std::function<bool()> go_on_;
    std::map<std::string, known_topic> known_;
    std::set<std::string> missing_;
    std::map<std::string, int> partitions_;  ///< Also of topics that are to be asked for anew.
    std::vector<growth> growths_;
};

}  // namespace mortise::kafka

#endif
