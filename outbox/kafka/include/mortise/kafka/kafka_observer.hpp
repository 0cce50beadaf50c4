// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_KAFKA_OBSERVER_HPP
#define MORTISE_KAFKA_KAFKA_OBSERVER_HPP

#include "mortise/error.hpp"

#include <cstdint>
#include <string_view>

namespace mortise::kafka {

/// A message from librdkafka. The text contains no secrets of the configuration.
struct kafka_event {
    enum class kind : std::uint8_t {
        log,         ///< A line of its log, with a syslog `level` (3 is an error).
        error,       ///< A connection or a login failed with `code`.
        statistics,  ///< JSON, every `statistics.interval.ms`.
    };

    kind type = kind::log;
    int level = 0;
    error_code code{};
    std::string_view text{};  ///< Valid during the call.
};

/// Receives the messages of librdkafka. Without an observer they are dropped and do not go to the
/// standard error.
///
/// @par Threads   Called on threads of librdkafka and of the observed object, several at a time. It
///                must be thread-safe, and must neither block nor call that object.
/// @par Lifetimes Not owned: it must outlive the observed object, after whose destruction it is not
///                called.
class kafka_observer {
public:
    virtual void on_event(const kafka_event& event) noexcept = 0;

protected:
    ~kafka_observer() = default;
};

}  // namespace mortise::kafka

#endif
