// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/ensemble_facts.hpp"

#include "mortise/options.hpp"
#include "store/zookeeper/session_proof.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

using std::chrono::milliseconds;
using verdict = store_finding::verdict;

constexpr const char* allow_conf = "let the servers answer conf (4lw.commands.whitelist=srvr,conf)";

store_finding finding(verdict judgement, const char* subject, std::string text) {
    store_finding one;
    one.judgement = judgement;
    one.subject = subject;
    one.found = std::move(text);
    return one;
}

std::string text_of(milliseconds time) {
    return std::to_string(time.count()) + " ms";
}

// Unless somebody has set it, minSessionTimeout is two ticks.
milliseconds tick_of(const server_report& server) {
    return server.settings ? server.settings->tick : (server.granted_min + milliseconds(1)) / 2;
}

// Up to "tick_ms is".
std::string text_of_tick(const server_report& server) {
    const auto tick = text_of(tick_of(server));
    if (server.settings)
        return "The tick of " + server.name + " is " + tick + " (tickTime);";
    return server.name + " grants sessions of " + text_of(server.granted_min) +
           " at least, which are two ticks of " + tick +
           " unless somebody has set minSessionTimeout;";
}

store_finding judge_sessions(milliseconds timeout) {
    if (timeout == milliseconds::zero()) {
        return finding(
            verdict::weak, "sessions", "There is no session yet, so its time-out is not known."
        );
    }
    return finding(
        verdict::holds,
        "sessions",
        "The servers end a session after " + text_of(timeout) +
            " without a word; its leases end before."
    );
}

store_finding judge_rights(bool login) {
    if (login)
        return finding(
            verdict::holds, "rights", "Only this user may touch the nodes of the store."
        );
    return finding(
        verdict::weak,
        "rights",
        "Whoever reaches the servers may delete the nodes of locks: name a user and a password, "
        "for digest authentication."
    );
}

}  // namespace

// A leader pings its followers each half of its tick, and each server may be the leader tomorrow.
store_finding ensemble_facts::judge_tick() const {
    const server_report* slowest = nullptr;
    for (const auto& each : servers) {
        if (tick_of(each) > (slowest ? tick_of(*slowest) : milliseconds::zero()))
            slowest = &each;
    }
    if (!slowest) {
        return finding(
            verdict::weak,
            "tick",
            "No server has granted a session to measure its tick by, which must not be longer "
            "than " +
                text_of(tick) + " (tick_ms)."
        );
    }
    const auto found = tick_of(*slowest);
    if (found <= tick)
        return finding(
            verdict::holds,
            "tick",
            text_of_tick(*slowest) + " tick_ms is " + std::to_string(tick.count()) + '.'
        );
    return finding(
        verdict::broken,
        "tick",
        text_of_tick(*slowest) + " tick_ms is " + std::to_string(tick.count()) +
            ", so leases may outlive their sessions: set tick_ms=" + std::to_string(found.count()) +
            " for all clients." +
            (slowest->settings ? std::string()
                               : std::string(" If minSessionTimeout is above two ticks there, ") +
                                     allow_conf + ", which tell the tick.")
    );
}

store_finding ensemble_facts::judge_longest_ttl() const {
    milliseconds most{0};
    for (const auto& each : servers) {
        const auto granted = each.settings ? each.settings->session_max : each.granted_max;
        if (granted != milliseconds::zero())
            most = most == milliseconds::zero() ? granted : std::min(most, granted);
    }
    constexpr const char* subject = "longest TTL";
    if (most == milliseconds::zero()) {
        return finding(
            verdict::weak, subject, "No server has granted a session to learn how long one may be."
        );
    }
    const auto whole = std::max(milliseconds(0), longest_ttl_in(most, tick));
    const auto limits = "leases of a TTL of up to " + text_of(whole) +
                        " last for all of it, and a TTL above " + text_of(most) +
                        " is refused (maxSessionTimeout)";
    if (ttl <= whole && whole != milliseconds::zero())
        return finding(verdict::holds, subject, "At these servers " + limits + '.');
    const auto wanted = timeout_for(std::max(ttl, client_config().ttl), tick);
    // A session that moves to such a server is given up; if its answer is lost, too late.
    const bool differs = timeout != milliseconds::zero() && ttl > most;
    return finding(
        differs ? verdict::broken : verdict::weak,
        subject,
        "At these servers " + limits + ": raise maxSessionTimeout to " + text_of(wanted) +
            " or more" + (differs ? " at all of them, which differ." : ".")
    );
}

// Heartbeats go out each third of a TTL, so two thirds are left when a leader falls silent; the
// election takes its time, too.
store_finding ensemble_facts::judge_elections() const {
    constexpr const char* subject = "elections";
    milliseconds patience{0};
    for (const auto& each : servers) {
        if (each.settings)
            patience = std::max(patience, each.settings->sync);
    }
    if (patience == milliseconds::zero()) {
        return finding(
            verdict::weak,
            subject,
            std::string("How long a leader that stands still is waited for (syncLimit) is not "
                        "known: ") +
                allow_conf + '.'
        );
    }
    const auto least = patience * 3 / 2;
    const auto text = "A leader that stands still or is cut off is left after " +
                      text_of(patience) + " (syncLimit): leases of a TTL below " + text_of(least) +
                      " are lost then, in time";
    if (std::max(ttl, client_config().ttl) >= least)
        return finding(verdict::holds, subject, text + '.');
    return finding(
        verdict::weak, subject, text + ". Choose such a TTL, or a smaller syncLimit or tickTime."
    );
}

store_finding ensemble_facts::judge_ensemble() const {
    constexpr const char* subject = "ensemble";
    constexpr std::size_t fewest = 3;
    if (voters < fewest) {
        return finding(
            verdict::weak,
            subject,
            "A server alone keeps the locks: while it is away nobody gets any. Three servers bear "
            "the loss of one."
        );
    }
    const auto text = std::to_string(voters) + " servers vote; " +
                      std::to_string((voters - 1) / 2) + " may be away";
    std::size_t named = 0;
    for (const auto& each : servers)
        named += std::max<std::size_t>(each.addresses, 1);
    if (named >= voters)
        return finding(verdict::holds, subject, text + '.');
    return finding(
        verdict::weak,
        subject,
        text + ". Only " + std::to_string(named) +
            " of them are named here: name all, so that clients find those that are left."
    );
}

store_finding ensemble_facts::judge_servers() const {
    std::string serve;
    std::string away;
    const auto add = [](std::string& to, const std::string& text) {
        to += (to.empty() ? "" : ", ") + text;
    };
    for (const auto& each : servers) {
        if (!each.failure.empty()) {
            add(away, each.name + " (" + each.failure + ')');
            continue;
        }
        const auto& state = each.state;
        add(serve, each.name + (state ? " (" + state->role + ", " + state->version + ')' : ""));
    }
    if (away.empty())
        return finding(verdict::holds, "servers", "All that are named serve: " + serve + '.');
    return finding(
        verdict::weak,
        "servers",
        "Some do not serve: " + away + ". Until they do, fewer others may be away. " +
            (serve.empty() ? "None of those that are named serves." : "There serve " + serve + '.')
    );
}

std::optional<store_finding> ensemble_facts::judge_connections() const {
    std::uint32_t least = 0;
    for (const auto& each : servers) {
        const auto most = each.settings ? each.settings->connections_max : 0;
        if (most != 0)
            least = least == 0 ? most : std::min(least, most);
    }
    if (least == 0)
        return std::nullopt;
    return finding(
        verdict::holds,
        "connections",
        "A host may have " + std::to_string(least) +
            " of them to a server (maxClientCnxns), and each client has one."
    );
}

std::vector<store_finding> ensemble_facts::findings() const {
    std::vector<store_finding> all;
    if (!missing.empty()) {
        all.push_back(finding(
            verdict::weak,
            "store",
            "There is none at " + missing +
                ": the first client that takes a lock makes it. If there should be one, compare "
                "this path with those of the clients."
        ));
    }
    all.push_back(finding(
        verdict::holds,
        "tokens",
        "They are numbers of the ensemble's transactions, and grow as long as its data is kept" +
            (epoch == 0 ? "." : "; this is epoch " + std::to_string(epoch) + " of 2097152.")
    ));
    all.push_back(judge_sessions(timeout));
    all.push_back(judge_longest_ttl());
    all.push_back(judge_tick());
    all.push_back(judge_ensemble());
    all.push_back(judge_servers());
    if (voters > 1)
        all.push_back(judge_elections());
    if (auto connections = judge_connections())
        all.push_back(std::move(*connections));
    all.push_back(finding(verdict::holds, "clocks", "Deadlines rest on no time of day."));
    all.push_back(judge_rights(login));
    return all;
}

}  // namespace mortise::store_detail
