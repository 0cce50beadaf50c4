// SPDX-License-Identifier: BSL-1.0
#include "bench/contend_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mortise::tool {

double quantile(std::vector<double>& values, double share) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const double place = std::ceil(share * static_cast<double>(values.size()));
    const auto index = place < 1 ? 0 : static_cast<std::size_t>(place) - 1;
    return values[std::min(index, values.size() - 1)];
}

contend_report judge(std::vector<contend_record> records) {
    contend_report report;
    if (records.empty())
        return report;
    std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
        return a.granted < b.granted;
    });
    std::vector<double> gaps;
    std::vector<double> waits;
    std::uint64_t same = 0;
    std::int64_t end = 0;  // the latest end of a hold so far
    std::uint64_t highest_token = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const contend_record& now = records[i];
        waits.push_back(static_cast<double>(now.granted - now.asked) / 1e6);
        if (i > 0) {
            const contend_record& before = records[i - 1];
            same += now.worker == before.worker;
            report.overlaps += now.granted < end;
            if (now.asked <= before.released)
                gaps.push_back(static_cast<double>(now.granted - before.released) / 1e3);
        }
        const bool any = now.token != 0 || highest_token != 0;  // not every store gives tokens
        report.token_regressions += any && now.token <= highest_token;
        highest_token = std::max(highest_token, now.token);
        end = std::max(end, now.released);
    }
    const double seconds = static_cast<double>(end - records.front().granted) / 1e9;
    const auto count = static_cast<double>(records.size());
    report.locks_per_s = seconds > 0 ? count / seconds : 0;
    report.gap_us_p50 = quantile(gaps, 0.50);
    report.gap_us_p99 = quantile(gaps, 0.99);
    report.wait_ms_p50 = quantile(waits, 0.50);
    report.wait_ms_max = waits.back();  // sorted above
    report.same_worker = records.size() > 1 ? static_cast<double>(same) / (count - 1) : 0;
    return report;
}

}  // namespace mortise::tool
