// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_REPORT_HPP
#define MORTISE_TOOLS_BENCH_BENCH_REPORT_HPP

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace mortise::tool {

/// Figures of one measurement: a table for people, an object for programs.
class bench_report {
public:
    /// Adds a figure. `key` is its JSON key; a dot in it leads into an inner object ("gap_us.p50").
    /// A missing value is shown as a dash, and is null in JSON.
    void add(std::string key, std::optional<double> value, int digits, std::string meaning);

    /// Adds a figure that must be zero. Any other value means that the measurement found a fault.
    void add_fault(std::string key, double value, std::string meaning);

    bool faultless() const noexcept { return faultless_; }

    void write(std::ostream& out, bool as_json) const;

private:
    struct figure {
        std::string key;
        std::optional<double> value;
        int digits;
        std::string meaning;
    };

    void write_table(std::ostream& out) const;
    void write_json(std::ostream& out) const;

    std::vector<figure> figures_;
    bool faultless_ = true;
};

/// The value below which `share` of all values lie. Sorts them. Zero if there are none.
double quantile(std::vector<double>& values, double share);

}  // namespace mortise::tool

#endif
