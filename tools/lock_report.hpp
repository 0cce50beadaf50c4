// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_REPORT_HPP
#define MORTISE_TOOLS_LOCK_REPORT_HPP

#include "mortise/store_types.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace mortise::tool {

/// One lock in full: its holders, its waiters, and the forced breaks.
class lock_report {
public:
    lock_report() = default;

    lock_view view;  ///< Has only a name if nobody holds the lock or waits for it.
    std::vector<break_record> breaks;  ///< Newest first.

    /// Writes the report for people.
    void write(std::ostream& out) const;

    /// Writes an object: `store`, the fields of `lock_json`, `waiters_not_shown`, and `breaks`.
    void write_json(std::ostream& out, const std::string& store) const;

private:
    void write_head(std::ostream& out) const;
    void write_holders(std::ostream& out) const;
    void write_waiters(std::ostream& out) const;
    void write_breaks(std::ostream& out) const;
    std::uint64_t waiters_not_shown() const noexcept;
};

}  // namespace mortise::tool

#endif
