// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_DOCTOR_REPORT_HPP
#define MORTISE_TOOLS_LOCK_DOCTOR_REPORT_HPP

#include "common/json.hpp"
#include "mortise/store_types.hpp"

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::tool {

/// The findings of `mortise doctor`, in groups, and the verdict on the store.
class doctor_report {
public:
    using verdict = store_finding::verdict;

    /// Begins a group. Later findings belong to it.
    void begin(std::string group);

    void add(verdict judgement, std::string subject, std::string found);
    void add(const store_finding& finding) {
        add(finding.judgement, finding.subject, finding.found);
    }

    /// Adds the findings that follow from the traits of the store.
    void add_promises(const store_traits& traits);

    /// Adds a figure for programs to the JSON object `measured`.
    void measure(std::string_view key, double value) { measured_[key] = value; }

    /// The worst verdict of all findings.
    verdict worst() const noexcept { return worst_; }

    /// Writes a table with a line for each finding, and a last line with the verdict.
    void write(std::ostream& out) const;

    /// Writes an object: `store`, `findings` (of `group`, `verdict`, `subject`, `found`),
    /// `measured`, and `verdict`.
    void write_json(std::ostream& out, const std::string& store) const;

private:
    struct line {
        std::string group;
        store_finding finding;
    };

    std::size_t count_of(verdict judgement) const;

    std::vector<line> lines_;
    std::string group_;
    json::object measured_;
    verdict worst_ = verdict::holds;
};

/// `holds`, `weak` or `broken`.
const char* to_string(store_finding::verdict judgement) noexcept;

}  // namespace mortise::tool

#endif
