// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_report.hpp"

#include "common/json.hpp"
#include "common/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <utility>

namespace mortise::tool {

double quantile(std::vector<double>& values, double share) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const double place = std::ceil(share * static_cast<double>(values.size()));
    const auto index = place < 1 ? 0 : static_cast<std::size_t>(place) - 1;
    return values[std::min(index, values.size() - 1)];
}

void bench_report::add(
    std::string key, std::optional<double> value, int digits, std::string meaning
) {
    figures_.push_back({std::move(key), value, digits, std::move(meaning)});
}

void bench_report::add_fault(std::string key, double value, std::string meaning) {
    faultless_ = faultless_ && value == 0;
    add(std::move(key), value, 0, std::move(meaning));
}

void bench_report::write(std::ostream& out, bool as_json) const {
    if (as_json)
        write_json(out);
    else
        write_table(out);
}

void bench_report::write_table(std::ostream& out) const {
    text_table table({"FIGURE", "VALUE", "MEANING"});
    table.align_right(1);
    for (const figure& f : figures_) {
        std::ostringstream value;
        if (f.value)
            value << std::fixed << std::setprecision(f.digits) << *f.value;
        else
            value << '-';
        table.add({f.key, value.str(), f.meaning});
    }
    table.write(out);
}

void bench_report::write_json(std::ostream& out) const {
    json::object fields;
    for (const figure& f : figures_) {
        json::value value;
        if (f.value && f.digits == 0)
            value = static_cast<std::int64_t>(std::llround(*f.value));
        else if (f.value)
            value = *f.value;
        const std::size_t dot = f.key.find('.');
        if (dot == std::string::npos) {
            fields[f.key] = std::move(value);
        } else {
            json::value& inner = fields[f.key.substr(0, dot)];
            if (!inner.is_object())
                inner.emplace_object();
            inner.as_object()[f.key.substr(dot + 1)] = std::move(value);
        }
    }
    out << json::serialize(fields) << '\n';
}

}  // namespace mortise::tool
