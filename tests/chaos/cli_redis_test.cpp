// SPDX-License-Identifier: BSL-1.0
// `mortise` as a process, with its locks at Redis.

#include "chaos/cli_fixture.hpp"
#include "support/built_program.hpp"
#include "support/port_reservation.hpp"
#include "support/redis_server.hpp"

#include <boost/json/parse.hpp>

#include <chrono>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::test::cli_redis_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr const char* secret = "s3cret-w0rd";

/// The URL of a server of this test only. It may assume that the server is new.
std::string url_of(const redis_server& server, const std::string& login = {}) {
    return "redis://" + login + server.address() + "/?assume_new=1";
}

class CliAtRedis : public Cli {
protected:
    CliAtRedis() { environment_.front().second = url_of(shared_redis()); }

    /// The findings of `mortise bench ARGUMENTS... --json`.
    json::value measured(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "bench");
        arguments.emplace_back("--json");
        cli_process bench = start(arguments);
        EXPECT_EQ(bench.wait(100s), 0) << bench.err();
        boost::system::error_code failed;
        json::value found = json::parse(bench.out(), failed);
        EXPECT_FALSE(failed) << bench.out();
        return found;
    }

    using command_list = std::vector<std::vector<std::string>>;

    /// All output of these commands with `store`, which is their argument: as text and as JSON.
    std::string all_said(const command_list& commands, const std::string& store) const {
        std::vector<cli_process> running;
        for (const auto& command : commands) {
            running.push_back(start(command, store));
            std::vector<std::string> for_programs = command;
            for_programs.insert(for_programs.begin(), {"--json", "--store", store});
            running.push_back(start(for_programs, store));
        }
        std::string output;
        for (cli_process& each : running) {
            each.wait(60s);
            output += each.out() + each.err();
        }
        return output;
    }

    using Cli::start;
    cli_process start(const std::vector<std::string>& arguments, const std::string& store) const {
        std::vector<std::string> all{built_program("tools/mortise")};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return cli_process(folder_, all, {{"MORTISE_STORE", store}});
    }
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Whether this process, or one that it started, has `part` in its arguments, as `ps` shows them.
bool in_arguments(pid_t process, const std::string& part) {
    const auto folder = std::filesystem::path("/proc") / std::to_string(process);
    if (has(text_of(folder / "cmdline"), part))
        return true;
    std::error_code ended;
    for (const auto& thread : std::filesystem::directory_iterator(folder / "task", ended)) {
        std::istringstream children(text_of(thread.path() / "children"));
        for (pid_t child = 0; children >> child;) {
            if (in_arguments(child, part))
                return true;
        }
    }
    return false;
}

TEST_F(CliAtRedis, ACommandRunsUnderALockThatOthersSee) {
    cli_process holder = start_script({"--lock", "a"}, "echo $MORTISE_TOKEN; exec sleep 60");
    ASSERT_TRUE(eventually([&] { return holder.out().ends_with("\n"); })) << holder.err();
    cli_process busy = start({"run", "--lock", "a", "--wait", "0", "--", "true"});
    cli_process waiter = start_script({"--lock", "a"}, "echo mine");
    ASSERT_TRUE(eventually([&] { return waiters_of("a") == 1; }));
    EXPECT_EQ(busy.wait(), 75);
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait(), 128 + SIGTERM);
    EXPECT_EQ(waiter.wait(), 0) << waiter.err();
    EXPECT_EQ(waiter.out(), "mine\n");
}

TEST_F(CliAtRedis, NoCommandShowsAPassword) {
    const redis_server server({std::string("requirepass ") + secret});
    const port_reservation closed;
    const std::string login = std::string(":") + secret + '@';
    const command_list few{{"ls"}, {"run", "--lock", "a", "--", "true"}, {"doctor"}};
    const command_list more{
        {"show", "a"},
        {"break", "a", "--why", "x"},
        {"bench", "uncontended", "--seconds", "1"},
        {"bench", "handoff", "--seconds", "1"},
        {"bench", "txn"}};
    const std::string store = url_of(server, login);
    const std::string good = all_said(few, store) + all_said(more, store);
    EXPECT_FALSE(has(good, secret)) << good;
    EXPECT_TRUE(has(good, "redis://:***@")) << good;
    const std::vector<std::string> bad{
        "redis://:" + std::string(secret) + "-wrong@" + server.address(),
        "redis://nobody:" + std::string(secret) + "@" + server.address(),
        "redis://" + login + "127.0.0.1:" + std::to_string(closed.port()),
        "redis://" + login + server.address() + "/?nosuch=1",
        "redis://" + login + server.address() + "/?password_env=HOME"};
    for (const std::string& each : bad) {
        const std::string output = all_said(few, each) + all_said({more.at(2)}, each);
        EXPECT_FALSE(has(output, secret)) << output;
        EXPECT_FALSE(output.empty()) << each;
    }
}

TEST_F(CliAtRedis, TheProcessesOfAMeasurementHaveNoPasswordAmongTheirArguments) {
    const redis_server server({std::string("requirepass ") + secret});
    const std::string store = url_of(server, std::string(":") + secret + '@');
    cli_process bench = start({"bench", "handoff", "--seconds", "60"}, store);
    ASSERT_TRUE(eventually([&] { return in_arguments(bench.pid(), "bench-worker"); }))
        << bench.err();
    EXPECT_FALSE(in_arguments(bench.pid(), secret));
    bench.send(SIGTERM);
    EXPECT_EQ(bench.wait(), 128 + SIGTERM);
}

TEST_F(CliAtRedis, DoctorSaysWhatIsWrongWithAServer) {
    const redis_server locked({std::string("requirepass ") + secret});
    const redis_server replica({replica_of(shared_redis())});
    const port_reservation closed;
    struct ailment {
        std::string store;
        std::string says;
    };
    const std::vector<ailment> ailments{
        {"redis://" + locked.address(), "NOAUTH"},
        {"redis://:wrong@" + locked.address(), "WRONGPASS"},
        {"redis://" + replica.address(), "name the primary"},
        {"redis://127.0.0.1:" + std::to_string(closed.port()), "Connection refused"}};
    std::vector<cli_process> doctors;
    for (const ailment& each : ailments)
        doctors.push_back(start({"doctor"}, each.store));
    for (std::size_t i = 0; i < ailments.size(); ++i) {
        EXPECT_EQ(doctors[i].wait(), 1) << doctors[i].err();
        EXPECT_TRUE(has(doctors[i].out(), "BROKEN  opening")) << doctors[i].out();
        EXPECT_TRUE(has(doctors[i].out(), ailments[i].says)) << doctors[i].out();
    }
}

TEST_F(CliAtRedis, DoctorExaminesAServerAndMeasuresIt) {
    cli_process doctor = start({"doctor", "--json"});
    ASSERT_EQ(doctor.wait(), 0) << doctor.out() << doctor.err();
    const json::value found = json::parse(doctor.out());
    EXPECT_EQ(found.at("verdict").as_string(), "weak");  // the server saves nothing to the disk
    EXPECT_GT(found.at("measured").at("handover_us_p50").as_double(), 0);
    EXPECT_TRUE(has(doctor.out(), "maxmemory-policy") || has(doctor.out(), "refuses new locks"));
}

TEST_F(CliAtRedis, InTheSingleKeyFormACommandMeetsOthersAndTheDoctorSaysWhatIsWeak) {
    const redis_server server;
    auto other = server.connect();
    const std::string store = "redis://" + server.address() + "/?form=single_key";
    cli_process doctor = start({"doctor"}, store);
    const std::string print = "echo \"<$MORTISE_TOKEN>\"; exec sleep 60";
    cli_process holder = start({"run", "--lock", "report", "--", "sh", "-c", print}, store);
    ASSERT_TRUE(eventually([&] { return holder.out() == "<>\n"; })) << holder.out() << holder.err();
    const auto taken = other.command({"SET", "report", "theirs", "NX", "PX", "1000"});
    EXPECT_TRUE(taken.is_null());
    cli_process shown = start({"show", "report"}, store);
    EXPECT_EQ(shown.wait(), 0) << shown.err();
    EXPECT_TRUE(has(shown.out(), other.command({"GET", "report"}).text)) << shown.out();
    cli_process listed = start({"ls"}, store);
    EXPECT_NE(listed.wait(), 0);
    EXPECT_TRUE(has(listed.err(), "prefix")) << listed.err();
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait(), 128 + SIGTERM);
    EXPECT_EQ(doctor.wait(), 0) << doctor.out() << doctor.err();
    EXPECT_TRUE(has(doctor.out(), "The single-key form")) << doctor.out();
    EXPECT_TRUE(has(doctor.out(), "no fence can be used")) << doctor.out();
    EXPECT_EQ(other.command({"DBSIZE"}).number, 0);
}

TEST_F(CliAtRedis, ADoctorWaitsForAServerThatMayHaveForgottenLocks) {
    const redis_server server;  // it has just started, and the URL does not say that it is new
    cli_process doctor = start({"doctor"}, "redis://" + server.address() + "?longest_ttl_ms=1500");
    EXPECT_EQ(doctor.wait(), 0) << doctor.out() << doctor.err();
    EXPECT_TRUE(has(doctor.out(), "grants nothing for the longest TTL")) << doctor.out();
}

TEST_F(CliAtRedis, BenchCountsWhatALockCostsTheServer) {
    const json::value alone = measured({"uncontended", "--seconds", "1"});
    EXPECT_GT(alone.at("ratio").as_double(), 0);
    EXPECT_NEAR(alone.at("commands_per_lock").as_double(), 2, 0.05);
    EXPECT_GT(alone.at("bytes_sent_per_lock").as_double(), 2 * 17);
    EXPECT_LE(alone.at("bytes_sent_per_lock").as_double(), 380) << "three keys in each command";
    const json::value passed = measured({"handoff", "--seconds", "1"});
    EXPECT_GT(passed.at("handoffs_per_s").as_double(), 0);
    EXPECT_GT(passed.at("ratio").as_double(), 0);
    const json::value many = measured(
        {"contend", "--processes", "3", "--tasks", "3", "--acquisitions", "200", "--no-local"}
    );
    EXPECT_EQ(many.at("overlaps").as_int64(), 0);
    EXPECT_EQ(many.at("token_regressions").as_int64(), 0);
    EXPECT_GE(many.at("commands_per_lock").as_double(), 2);
    EXPECT_LE(many.at("commands_per_lock").as_double(), 3.2);
    EXPECT_LE(many.at("bytes_sent_per_lock").as_double(), 450);
    const json::value inside = measured({"local", "--seconds", "1"});
    EXPECT_GT(inside.at("handoffs_per_s").as_double(), 0);
    EXPECT_GT(inside.at("commands_per_s").as_double(), 0);
}

TEST_F(CliAtRedis, BenchHoldsManyLocksWithOneHeartbeat) {
    const json::value idle = measured({"idle", "--locks", "500", "--seconds", "4"});
    EXPECT_EQ(idle.at("locks").as_int64(), 500);
    EXPECT_LE(idle.at("heartbeats_per_s").as_double(), 1);
    EXPECT_LE(idle.at("commands_per_s").as_double(), 1);
    EXPECT_GT(idle.at("commands_per_s").as_double(), 0);
}

TEST_F(CliAtRedis, BenchKillsHoldersAndTakesLingeringLocksAway) {
    // The allowed lateness depends on how busy the machine is: use the bench's own verdict.
    const json::value killed = measured({"takeover", "--kills", "2", "--ttl", "2s"});
    EXPECT_EQ(killed.at("late").as_int64(), 0);
    EXPECT_GT(killed.at("takeover_ms").at("p50").as_double(), 1'000);
    const json::value linger = measured({"linger", "--seconds", "1"});
    EXPECT_GT(linger.at("acquires_per_s").as_double(), 0);
    EXPECT_LE(linger.at("commands_per_s").as_double(), 10);
    EXPECT_GT(linger.at("ask_round_trips").as_double(), 0);
    EXPECT_GT(linger.at("ask_pings").as_double(), 0);
}

}  // namespace
}  // namespace mortise::test::cli_redis_test
