// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_OUTBOX_REPORT_HPP
#define MORTISE_TOOLS_OUTBOX_OUTBOX_REPORT_HPP

#include "common/json.hpp"
#include "common/text_table.hpp"
#include "common/time_text.hpp"
#include "mortise/outbox/relay_event.hpp"
#include "mortise/outbox/table_view.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// A message that could not be sent.
struct parked_message {
    outbox::row_view row;
    std::uint64_t behind = 0;  ///< How many parked messages wait for it.
};

/// Sorts the parked rows: those that could not be sent, and those that wait behind them.
class parked_list {
public:
    /// Adds a row. Call in the order of the row numbers.
    void add(outbox::row_view row);

    const std::vector<parked_message>& messages() const noexcept { return messages_; }

private:
    std::vector<parked_message> messages_;
    std::map<std::pair<std::string, std::string>, std::size_t> of_key_;  // by topic and key
};

/// Writes a message table: totals, shards, and what to do about the shards that the sink refuses.
void write_table(std::ostream& out, const outbox::table_view& view);
json::object table_json(const outbox::table_view& view);

/// A table of waiting rows.
text_table waiting_rows();
void add_waiting(text_table& to, const outbox::row_view& row, wall_time now);

/// A table of messages that are not due yet.
text_table later_rows();
void add_later(text_table& to, const outbox::row_view& row, wall_time now);

/// Writes one row in full.
void write_row(std::ostream& out, const outbox::row_view& row, wall_time now);
/// A row without payload and headers.
json::object row_head_json(const outbox::row_view& row, wall_time now);
json::object row_json(const outbox::row_view& row, wall_time now);

void write_parked(std::ostream& out, const parked_list& all, wall_time now);
json::array parked_json(const parked_list& all, wall_time now);

/// A shard before and after `rebase`.
struct rebased_shard {
    outbox::shard_view before;
    outbox::shard_view after;
};
/// Writes what each rebase means, a line for each shard.
void write_rebased(std::ostream& out, const std::vector<rebased_shard>& all);
json::array rebased_json(const std::vector<rebased_shard>& all);

/// An event on one line.
std::string event_text(const outbox::relay_event& event, wall_time now);
json::object event_json(const outbox::relay_event& event, wall_time now);

}  // namespace mortise::tool

#endif
