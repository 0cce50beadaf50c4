// SPDX-License-Identifier: BSL-1.0
#include "lock/doctor_probe.hpp"
#include "unit/tools/tool_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <optional>
#include <sstream>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using tool::doctor_probe;
using tool::doctor_report;
using finding = store_finding::verdict;

asio::awaitable<int> examine_all(doctor_probe& probe, doctor_report& report) {
    co_await probe.examine(report);
    co_await probe.stop();
    co_return 0;
}

/// Examines the server of `world`.
doctor_report examined(tool_world& world) {
    doctor_report report;
    doctor_probe probe(world.context.get_executor(), world.time, [&] {
        return world.server.make_store();
    });
    EXPECT_EQ(world.run(examine_all(probe, report)), 0);
    return report;
}

boost::json::value json_of(const doctor_report& report) {
    std::ostringstream out;
    report.write_json(out, "memory:test");
    return boost::json::parse(out.str());
}

/// The verdict of the finding with that subject in that group.
std::string
verdict_of(const doctor_report& report, const std::string& group, const std::string& subject) {
    const boost::json::value all = json_of(report);
    for (const boost::json::value& one : all.at("findings").as_array())
        if (one.at("group").as_string() == group && one.at("subject").as_string() == subject)
            return std::string(one.at("verdict").as_string());
    return "absent";
}

TEST(DoctorCommand, FindsWhatHoldsAndWhatIsWeakAndLeavesNothing) {
    tool_world world;
    const doctor_report report = examined(world);
    EXPECT_EQ(report.worst(), finding::weak);  // the memory forgets its tokens
    EXPECT_EQ(verdict_of(report, "promises", "tokens"), "weak");
    EXPECT_EQ(verdict_of(report, "promises", "pushed grants"), "holds");
    EXPECT_EQ(verdict_of(report, "store", "reach"), "holds");
    for (const char* measured : {"acquire and release", "pushes", "heartbeat"})
        EXPECT_EQ(verdict_of(report, "measured", measured), "holds") << measured;
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(world.server.sessions(), 0u);
}

TEST(DoctorCommand, FindsThatPushesGetLost) {
    tool_world world;
    world.server.lose_pushes(1'000'000);
    const doctor_report report = examined(world);
    EXPECT_EQ(verdict_of(report, "measured", "pushes"), "weak");
    EXPECT_GT(json_of(report).at("measured").at("handover_us_max").as_double(), 10'000);
}

TEST(DoctorCommand, AStoreThatCannotBeOpenedIsBroken) {
    tool_world world;
    world.server.set_unavailable(true);
    const doctor_report report = examined(world);
    EXPECT_EQ(report.worst(), finding::broken);
    EXPECT_EQ(verdict_of(report, "store", "opening"), "broken");
    EXPECT_EQ(verdict_of(report, "measured", "pushes"), "absent");
}

/// The server forgets who held what, of clients with that TTL.
void forget_holders(tool_world& world, std::chrono::milliseconds ttl) {
    client_config config = world.config();
    config.ttl = ttl;
    lock_client before = world.labelled("before", config);
    const lease held = world.acquire_as(before, "a", {});
    world.server.restart(false);
}

TEST(DoctorCommand, WaitsForAStoreThatMayHaveForgottenLocks) {
    tool_world world;
    forget_holders(world, 5s);
    const doctor_report report = examined(world);
    EXPECT_EQ(verdict_of(report, "store", "opening"), "holds");
    EXPECT_EQ(verdict_of(report, "measured", "pushes"), "holds");
}

TEST(DoctorCommand, DoesNotWaitForEverForAStoreThatMayHaveForgottenLocks) {
    tool_world world;
    forget_holders(world, 10min);
    const doctor_report report = examined(world);
    EXPECT_EQ(verdict_of(report, "store", "opening"), "broken");
    EXPECT_EQ(verdict_of(report, "measured", "pushes"), "absent");
}

TEST(DoctorCommand, LeavesNothingWhereverItIsCancelled) {
    for (int step = 0; step < 600; step += 7) {
        tool_world world;
        doctor_report report;
        std::optional<doctor_probe> probe;
        probe.emplace(world.context.get_executor(), world.time, [&] {
            return world.server.make_store();
        });
        asio::cancellation_signal cancel;
        bool ended = false;
        asio::co_spawn(
            world.context,
            probe->examine(report),
            asio::bind_cancellation_slot(
                cancel.slot(), [&](const std::exception_ptr&) { ended = true; }
            )
        );
        int handlers = 0;
        world.time->run_while(world.context, [&] { return handlers++ < step; });
        cancel.emit(asio::cancellation_type::terminal);
        ASSERT_TRUE(world.run_until([&] { return ended; })) << step;
        bool stopped = false;
        asio::co_spawn(world.context, probe->stop(), [&](const std::exception_ptr& failed) {
            EXPECT_FALSE(failed);
            stopped = true;
        });
        ASSERT_TRUE(world.run_until([&] { return stopped; })) << step;
        EXPECT_EQ(world.server.entries(), 0u) << step;
    }
}

TEST(DoctorReport, EndsWithTheVerdict) {
    const auto text = [](const doctor_report& report) {
        std::ostringstream out;
        report.write(out);
        return out.str();
    };
    doctor_report report;
    report.begin("store");
    report.add(finding::holds, "reach", "Fine.");
    EXPECT_THAT(text(report), testing::EndsWith("\nVerdict: every promise holds.\n"));
    report.add(finding::weak, "disk", "Slow.");
    EXPECT_THAT(text(report), testing::EndsWith("\nVerdict: works, with 1 weak point.\n"));
    report.add(finding::broken, "file", "Torn.");
    EXPECT_THAT(text(report), HasSubstr("BROKEN  file"));
    EXPECT_THAT(text(report), HasSubstr("\nVerdict: broken. 1 thing has to be mended"));
    EXPECT_EQ(json_of(report).at("verdict").as_string(), "broken");
}

TEST(DoctorReport, SaysWhatFollowsFromTheTraits) {
    doctor_report report;
    store_traits traits;
    traits.strength = token_strength::strict;
    traits.push = traits.fair = traits.server_clock = true;
    traits.shared = traits.permits = traits.hold_max = true;
    report.add_promises(traits);
    EXPECT_EQ(report.worst(), finding::holds);
    traits.strength = token_strength::durable_if_configured;
    traits.shared = false;
    doctor_report weaker;
    weaker.begin("promises");
    weaker.add_promises(traits);
    EXPECT_EQ(verdict_of(weaker, "promises", "tokens"), "weak");
    EXPECT_EQ(verdict_of(weaker, "promises", "modes"), "weak");
    EXPECT_EQ(weaker.worst(), finding::weak);
    traits.strength = token_strength::absent;
    doctor_report none;
    none.begin("promises");
    none.add_promises(traits);
    EXPECT_EQ(verdict_of(none, "promises", "tokens"), "weak");
}

}  // namespace
}  // namespace mortise::test
