// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_KAFKA_INBOX_PARTY_HPP
#define MORTISE_TESTS_UNIT_KAFKA_INBOX_PARTY_HPP

#include "mortise/db/sqlite.hpp"
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/outbox/inbox.hpp"
#include "unit/outbox/outbox_site.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// A process that consumes: a session with a database, an inbox in it, and who feeds that, in a
/// context of their own. Unless told otherwise the handler writes down what comes.
class inbox_party {
public:
    using kind = kafka::consumer_event::kind;

    explicit inbox_party(std::filesystem::path database, outbox::inbox_handler handler = {});
    ~inbox_party();
    inbox_party(const inbox_party&) = delete;
    inbox_party& operator=(const inbox_party&) = delete;

    void start(kafka::inbox_consumer_config how);
    /// Until it has left the group.
    void stop();
    /// As when it goes out of scope.
    void destroy() { consumer_.reset(); }
    void stop_inbox();

    std::vector<kafka::consumer_event> events(kind type) const;
    /// The events of the consumer, for people.
    std::string event_texts() const;
    /// So many partitions were given to it and not taken back.
    std::size_t assigned() const;
    outbox::inbox_stats stats() const { return inbox_->stats(); }

    /// The lines that the handler wrote down, by key, in their order.
    std::map<std::string, std::vector<std::string>> written();
    std::size_t count();
    void run(std::function<void(db::connection&)> work);
    std::shared_ptr<db::sqlite> session() { return session_; }

private:
    // A consumer that is destroyed leaves its group afterwards, in the context of `site_`, and
    // tells the observer: so what the observer writes to outlives that context.
    mutable std::mutex mutex_;
    std::vector<kafka::consumer_event> events_;
    outbox_site site_;
    std::shared_ptr<db::sqlite> session_;
    std::shared_ptr<outbox::inbox> inbox_;
    std::optional<kafka::inbox_consumer> consumer_;
};

/// Writes key and payload down.
outbox::answer write_down(db::connection& on, const outbox::received& received);

}  // namespace mortise::test

#endif
