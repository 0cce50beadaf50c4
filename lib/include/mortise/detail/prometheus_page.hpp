// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_PROMETHEUS_PAGE_HPP
#define MORTISE_DETAIL_PROMETHEUS_PAGE_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::detail {

/// One counter of a class of counters, and how Prometheus knows it.
template <class Stats>
struct prometheus_metric {
    std::uint64_t Stats::*value;
    std::string_view name;
    std::string_view type;  ///< `counter` or `gauge`.
    std::string_view help;
};

/// `{name="value"} `, with a value of any bytes.
std::string prometheus_label(std::string_view name, std::string_view value);

/// A page in Prometheus' text format: one sample for each metric, with that label.
template <class Metrics, class Stats>
std::string prometheus_page(
    const Metrics& metrics, const Stats& stats, const std::string& label, bool with_help
) {
    std::string text;
    for (const auto& each : metrics) {
        if (with_help) {
            text.append("# HELP ").append(each.name).append(" ").append(each.help).append("\n");
            text.append("# TYPE ").append(each.name).append(" ").append(each.type).append("\n");
        }
        text.append(each.name).append(label).append(std::to_string(stats.*each.value)).append("\n");
    }
    return text;
}

}  // namespace mortise::detail

#endif
