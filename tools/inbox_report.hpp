// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_INBOX_REPORT_HPP
#define MORTISE_TOOLS_INBOX_REPORT_HPP

#include "json.hpp"
#include "mortise/outbox/inbox_view.hpp"
#include "time_text.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mortise::tool {

/// The inboxes, and how far each has come in its sources.
void write_inboxes(std::ostream& out, const std::vector<outbox::inbox_view>& all);
json::array inboxes_json(const std::vector<outbox::inbox_view>& all);

/// A message that could not be dealt with.
struct unhandled_message {
    outbox::held_message held;
    std::uint64_t behind = 0;  ///< So many wait for it.
};

/// Sorts what inboxes hold into what could not be dealt with, and what waits behind that.
class held_list {
public:
    explicit held_list(bool with_retried) : with_retried_(with_retried) {}

    /// In the order of their numbers.
    void add(outbox::held_message held);

    /// Those that are parked, and, if that is wanted, those that are tried again.
    std::vector<unhandled_message> messages() const;

private:
    bool with_retried_;
    std::vector<unhandled_message> messages_;
    // By inbox, topic and key.
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> of_key_;
};

void write_held(std::ostream& out, const std::vector<unhandled_message>& all, wall_time now);
json::array held_json(const std::vector<unhandled_message>& all, wall_time now);

}  // namespace mortise::tool

#endif
