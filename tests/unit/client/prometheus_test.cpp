// SPDX-License-Identifier: BSL-1.0
#include "mortise/prometheus.hpp"
#include "unit/client/client_world.hpp"

#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using counter_values = std::array<std::uint64_t, sizeof(client_stats) / sizeof(std::uint64_t)>;
constexpr std::size_t counters = counter_values().size();

/// A client's counters, each with a value of its own: 1, 2, 3, ...
client_stats counted_up() {
    counter_values values{};
    std::iota(values.begin(), values.end(), 1);
    return std::bit_cast<client_stats>(values);
}

std::vector<std::string> lines_in(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

/// The samples of a page: from what stands before the last space to the value behind it.
std::map<std::string, std::string> samples_in(const std::string& text) {
    std::map<std::string, std::string> found;
    for (const auto& line : lines_in(text)) {
        if (line.starts_with('#'))
            continue;
        const auto space = line.rfind(' ');
        EXPECT_TRUE(found.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
    }
    return found;
}

TEST(PrometheusText, HasHelpAndTypeOnceBeforeEachSample) {
    const auto lines = lines_in(prometheus_text(counted_up(), "shop"));
    ASSERT_EQ(lines.size(), 3 * counters);
    std::set<std::string> names;
    for (std::size_t i = 0; i < lines.size(); i += 3) {
        std::istringstream help(lines[i]);
        std::istringstream type(lines[i + 1]);
        std::string hash, word, name, kind, same;
        help >> hash >> word >> name;
        EXPECT_EQ(hash + ' ' + word, "# HELP");
        EXPECT_TRUE(names.insert(name).second) << name << " comes twice";
        EXPECT_GT(lines[i].size(), 10 + name.size()) << "no help for " << name;
        type >> hash >> word >> same >> kind;
        EXPECT_EQ(hash + ' ' + word, "# TYPE");
        EXPECT_EQ(same, name);
        EXPECT_EQ(kind, name.ends_with("_total") ? "counter" : "gauge") << name;
        EXPECT_TRUE(name.starts_with("mortise_")) << name;
        EXPECT_TRUE(lines[i + 2].starts_with(name + "{client=\"shop\"} ")) << lines[i + 2];
    }
}

TEST(PrometheusText, HasEveryCounterOnce) {
    std::set<std::string> values;
    for (const auto& [name, value] : samples_in(prometheus_text(counted_up(), "shop")))
        EXPECT_TRUE(values.insert(value).second) << name << " shows another one's value";
    ASSERT_EQ(values.size(), counters);
    for (std::size_t i = 1; i <= counters; ++i)
        EXPECT_TRUE(values.contains(std::to_string(i))) << "counter " << i << " is missing";
}

TEST(PrometheusText, GivesEachCounterItsName) {
    client_stats stats;
    stats.granted = 18'446'744'073'709'551'615u;
    stats.leases = 7;
    const auto samples = samples_in(prometheus_text(stats, "shop"));
    EXPECT_EQ(samples.at("mortise_leases_granted_total{client=\"shop\"}"), "18446744073709551615");
    EXPECT_EQ(samples.at("mortise_leases_held{client=\"shop\"}"), "7");
    EXPECT_EQ(samples.at("mortise_leases_lost_total{client=\"shop\"}"), "0");
}

TEST(PrometheusText, EscapesTheLabel) {
    const auto samples = samples_in(prometheus_text({}, "a\\b \"c\"\nd"));
    EXPECT_EQ(samples.count(R"(mortise_leases_held{client="a\\b \"c\"\nd"})"), 1u);
    EXPECT_EQ(samples.size(), counters);
}

TEST(PrometheusText, OfASecondClientMayStandBehindTheFirst) {
    const std::string page = prometheus_text({}, "one") + prometheus_text({}, "two", false);
    EXPECT_TRUE(page.ends_with('\n'));
    EXPECT_EQ(lines_in(page).size(), 4 * counters);
    EXPECT_EQ(samples_in(page).size(), 2 * counters);
}

TEST(PrometheusText, TellsWhatAClientDid) {
    client_world world;
    lock_client locks = world.client();
    const lease held = world.acquire(locks, "door");
    const auto samples = samples_in(prometheus_text(locks.stats(), "one"));
    EXPECT_EQ(samples.at("mortise_leases_granted_total{client=\"one\"}"), "1");
    EXPECT_EQ(samples.at("mortise_leases_held{client=\"one\"}"), "1");
    EXPECT_EQ(samples.at("mortise_sessions_total{client=\"one\"}"), "1");
}

}  // namespace
}  // namespace mortise::test
