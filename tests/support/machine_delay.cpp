// SPDX-License-Identifier: BSL-1.0
#include "support/machine_delay.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

namespace mortise::test {
namespace {

using std::chrono::microseconds;

/// Reads the first line: "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS".
microseconds stalls(const std::string& of_what) {
    std::ifstream file("/proc/pressure/" + of_what);
    std::string line;
    std::getline(file, line);
    const auto total = line.rfind("total=");
    return microseconds(total == std::string::npos ? 0 : std::stoll(line.substr(total + 6)));
}

/// Reads the eighth number, in ticks, of "cpu user nice system idle iowait irq softirq steal ...".
microseconds stolen() {
    std::ifstream file("/proc/stat");
    std::string name;
    file >> name;
    long long ticks = 0;
    for (int field = 0; field < 8 && file; ++field)
        file >> ticks;
    return file ? microseconds(ticks * 1'000'000 / ::sysconf(_SC_CLK_TCK)) : microseconds(0);
}

}  // namespace

microseconds machine_delay::all() {
    return stalls("cpu") + stalls("memory") + stalls("io") + stolen();
}

}  // namespace mortise::test
