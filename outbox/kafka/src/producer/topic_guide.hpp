// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_TOPIC_GUIDE_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_TOPIC_GUIDE_HPP

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

namespace mortise::kafka::detail {

class handle;

/// Asks for a topic before the first record goes there. A topic that is missing or forbidden is
/// then found before anything is sent. Also, librdkafka 2.0 delays the first record to a topic that
/// was never asked for by a second.
class topic_guide {
public:
    /// @param missing_max How long to wait for a missing topic. A topic that was missing for so
    ///                    long is not waited for again.
    /// @param go_on Asked between tries whether to go on.
    topic_guide(
        const handle& by,
        std::chrono::milliseconds wait_max,
        std::chrono::milliseconds missing_max,
        std::function<bool()> go_on
    );

    /// Zero if records can go to that partition of the topic (to any, if absent); else the reason
    /// why not.
    int check(const std::string& topic, std::optional<std::int32_t> partition);

    /// Makes every topic be asked for again.
    void forget() noexcept { known_.clear(); }

    /// A topic got more partitions since it was first asked for: its keys go to other ones now.
    struct growth {
        std::string topic;
        int before = 0;
        int now = 0;
    };
    /// Returns what was found since the last call.
    std::vector<growth> take_growths();

private:
    struct known_topic {
        owned<rd_kafka_topic_t> topic;  ///< Keeps librdkafka's data about it.
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
    std::map<std::string, int> partitions_;  ///< Kept over `forget`.
    std::vector<growth> growths_;
};

}  // namespace mortise::kafka::detail

#endif
