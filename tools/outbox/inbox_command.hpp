// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_INBOX_COMMAND_HPP
#define MORTISE_TOOLS_OUTBOX_INBOX_COMMAND_HPP

#include "common/json.hpp"
#include "common/settings.hpp"
#include "common/time_text.hpp"
#include "mortise/outbox/inbox_view.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mortise::tool {

/// `mortise inbox`: shows the inboxes of a database, and repairs them on order.
/// @return the exit code. @throws failure, or what the library throws.
int inboxes(const global_settings& global, const inbox_settings& settings);

/// `ls` and `parked`.
int look_at_inboxes(
    const global_settings& global, const inbox_settings& settings, std::ostream& out
);

/// `replay`, `drop` and `move`.
boost::asio::awaitable<int>
mend_inbox(const global_settings& global, const inbox_settings& settings, std::ostream& out);

/// Writes the inboxes, and how far each has read its sources.
void write_inboxes(std::ostream& out, const std::vector<outbox::inbox_view>& all);
json::array inboxes_json(const std::vector<outbox::inbox_view>& all);

/// A message that could not be handled.
struct unhandled_message {
    outbox::held_message held;
    std::uint64_t behind = 0;  ///< How many messages wait for it.
};

/// Sorts the held messages of inboxes: those that could not be handled, and those that wait behind
/// them.
class held_list {
public:
    explicit held_list(bool with_retried) : with_retried_(with_retried) {}

    /// Adds a message. Call in the order of the row numbers.
    void add(outbox::held_message held);

    /// The parked messages and, if wanted, those that are being retried.
    std::vector<unhandled_message> messages() const;

private:
    bool with_retried_;
    std::vector<unhandled_message> messages_;
    // by inbox, topic and key
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> of_key_;
};

void write_held(std::ostream& out, const std::vector<unhandled_message>& all, wall_time now);
json::array held_json(const std::vector<unhandled_message>& all, wall_time now);

}  // namespace mortise::tool

#endif
