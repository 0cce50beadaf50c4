// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_REPORT_HPP
#define MORTISE_TOOLS_OUTBOX_REPORT_HPP

#include "json.hpp"
#include "mortise/outbox/relay_event.hpp"
#include "mortise/outbox/table_view.hpp"
#include "parked_list.hpp"
#include "text_table.hpp"
#include "time_text.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace mortise::tool {

/// Writes a message table: totals, shards, and what to do about the shards that the sink refuses.
void write_table(std::ostream& out, const outbox::table_view& what);
json::object table_json(const outbox::table_view& what);

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
std::string event_text(const outbox::relay_event& what, wall_time now);
json::object event_json(const outbox::relay_event& what, wall_time now);

}  // namespace mortise::tool

#endif
