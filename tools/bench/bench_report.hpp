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
    /// A figure. `key` is that of the JSON object, with a dot before the part inside an inner
    /// object ("gap_us.p50"). No value is shown as a dash, and is null in JSON.
    void add(std::string key, std::optional<double> value, int digits, std::string meaning);

    /// The same, which must be zero: otherwise the measurement found a fault.
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

}  // namespace mortise::tool

#endif
