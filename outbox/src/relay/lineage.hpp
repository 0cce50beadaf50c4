// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_LINEAGE_HPP
#define MORTISE_OUTBOX_SRC_RELAY_LINEAGE_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/sink.hpp"
#include "table/shards.hpp"

#include <string>

namespace mortise::outbox::detail {

/// The decision about the mark at the sink and the one in the table.
class judgement {
public:
    judgement() = default;  // declared: no aggregate (docs/compilers.md, G3)

    error_code refused;      ///< They contradict each other: an operator must decide.
    std::string text;        ///< How they contradict each other.
    mark start;              ///< Otherwise: go on after this mark.
    bool mark_lost = false;  ///< The sink knows less than it once acknowledged.
};

/// Decides where to go on.
///
/// @param known The table's mark, and the sink that acknowledged it.
/// @param found What the sink says.
/// @param seen What the table has in the row of the sink's mark.
judgement judge(const table::shadow& known, const opening& found, const table::mark_place& seen);

}  // namespace mortise::outbox::detail

#endif
