// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_LINEAGE_HPP
#define MORTISE_OUTBOX_SRC_RELAY_LINEAGE_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/sink.hpp"
#include "table/shards.hpp"

#include <string>

namespace mortise::outbox::relay_detail {

/// What is to be made of the mark at the sink and of that in the table.
class judgement {
public:
    judgement() = default;  // declared: no aggregate (docs/compilers.md, G3)

    error_code refused;      ///< They contradict each other: nobody may guess.
    std::string text;        ///< In which way.
    mark start;              ///< Else: after this one.
    bool mark_lost = false;  ///< The sink knows less than it once acknowledged.
};

/// Where to go on.
///
/// @param known the table's mark, and the sink that it was acknowledged by
/// @param found what the sink says
/// @param seen what the table has where the sink's mark is
judgement judge(const table::shadow& known, const opening& found, const table::mark_place& seen);

}  // namespace mortise::outbox::relay_detail

#endif
