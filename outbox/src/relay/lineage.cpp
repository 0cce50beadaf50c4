// SPDX-License-Identifier: BSL-1.0
#include "relay/lineage.hpp"

#include "mortise/outbox/error.hpp"

#include <algorithm>
#include <utility>

namespace mortise::outbox::detail {
namespace {

judgement refusal(error_code why, std::string text) {
    judgement result;
    result.refused = why;
    result.text = std::move(text);
    return result;
}

std::string row_text(const mark& of) {
    return "row " + std::to_string(of.row) +
           (of.message.empty() ? " without a message" : " with the message " + of.message);
}

std::string name_of(const std::string& layout) {
    return layout.empty() ? "an older version" : layout;
}

// Whether sink and table agree on a mark without a message. Such a mark is where the shard began,
// or where an operator put it, and the table has not moved from there.
bool begins_alike(const mark& last, const mark& known) {
    return known.message.empty() && last.row == known.row;
}

}  // namespace

judgement judge(const table::shadow& known, const opening& found, const table::mark_place& seen) {
    judgement result;
    result.start = known.last;
    if (!known.sink.empty() && known.sink != found.identity && known.sink != found.older_identity)
        return refusal(
            errc::foreign_sink, "was " + known.sink + ", and this one is " + found.identity
        );
    // After an operator's decision, no mark is needed until something is sent.
    if (found.unreadable && (known.last.generation == 0 || !known.sink.empty()))
        return refusal(found.unreadable, found.unreadable_text);
    if (!found.last) {
        result.mark_lost = known.last.sequence > 0 && !known.sink.empty();
        return result;
    }
    const mark& last = *found.last;
    if (last.table != known.last.table || last.shard != known.last.shard)
        return refusal(errc::foreign_mark, "the mark is of the table " + last.table);
    if (last.generation > known.last.generation)
        return refusal(
            errc::restored,
            "the mark is of generation " + std::to_string(last.generation) + ", the table of " +
                std::to_string(known.last.generation)
        );
    if (last.generation < known.last.generation) {
        // An operator has decided since the sink's mark was made.
        result.start.sequence = std::max(last.sequence, known.last.sequence);
        return result;
    }
    if (last.sequence < known.last.sequence) {
        result.mark_lost = true;
        return result;
    }
    if (last.layout != known.last.layout)
        return refusal(
            errc::restored,
            "the mark is of the layout " + name_of(last.layout) + ", the shard of " +
                name_of(known.last.layout)
        );
    if (last.row > seen.last_row)
        return refusal(
            errc::restored,
            "the mark is at row " + std::to_string(last.row) + ", the last row that there was is " +
                std::to_string(seen.last_row)
        );
    if (last.message.empty() ? !begins_alike(last, known.last) : seen.message != last.message)
        return refusal(
            errc::restored,
            "the mark is at " + row_text(last) + ", where the table has " +
                (seen.message ? "the message " + *seen.message : "none")
        );
    result.start = last;
    return result;
}

}  // namespace mortise::outbox::detail
