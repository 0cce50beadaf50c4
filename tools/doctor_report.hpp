// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_DOCTOR_REPORT_HPP
#define MORTISE_TOOLS_DOCTOR_REPORT_HPP

#include "json.hpp"
#include "mortise/store_types.hpp"

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::tool {

/// What `mortise doctor` found out, in groups, and the verdict on it.
class doctor_report {
public:
    using verdict = store_finding::verdict;

    /// What is added from here on belongs to this group.
    void begin(std::string group);

    void add(verdict what, std::string subject, std::string found);
    void add(const store_finding& finding) { add(finding.what, finding.subject, finding.found); }

    /// What follows from the traits of a store.
    void add_promises(const store_traits& traits);

    /// A figure for programs, in the object `measured`.
    void measure(std::string_view key, double value) { measured_[key] = value; }

    /// The worst of all.
    verdict worst() const noexcept { return worst_; }

    /// A table with a line for each finding, and a last line with the verdict.
    void write(std::ostream& out) const;

    /// An object: `store`, `findings` (of `group`, `verdict`, `subject`, `found`), `measured`, and
    /// `verdict`.
    void write_json(std::ostream& out, const std::string& store) const;

private:
    struct line {
        std::string group;
        store_finding finding;
    };

    std::size_t count_of(verdict what) const;

    std::vector<line> lines_;
    std::string group_;
    json::object measured_;
    verdict worst_ = verdict::holds;
};

/// `holds`, `weak` or `broken`.
const char* to_string(store_finding::verdict what) noexcept;

}  // namespace mortise::tool

#endif
