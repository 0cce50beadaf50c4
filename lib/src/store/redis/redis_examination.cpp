// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_examination.hpp"

#include <utility>

namespace mortise::store_detail {
namespace {

using verdict = store_finding::verdict;

store_finding finding(verdict judged, const char* subject, std::string text) {
    store_finding result;
    result.judgement = judged;
    result.subject = subject;
    result.found = std::move(text);
    return result;
}

store_finding judge_server(const redis_examination& at) {
    accepted_risks all;
    all.eviction = all.unseen_restarts = true;
    const auto failure = at.facts.judge(all, at.single_key);
    if (failure.code) {
        return finding(
            verdict::broken,
            "server",
            at.name + ": " + failure.text + "; " + std::string(redis_remedy(failure)) + "."
        );
    }
    if (!at.facts.known) {
        return finding(
            verdict::weak,
            "server",
            at.name + " does not tell of itself: what follows is not known, and a restart that "
                      "forgot locks goes unnoticed. Let the user run INFO (+info)."
        );
    }
    return finding(
        verdict::holds,
        "server",
        at.name + " runs version " + at.facts.version +
            (at.tls ? ", reached by TLS." : ", reached without TLS.")
    );
}

store_finding judge_memory(const server_facts& facts, bool keys_expire) {
    const auto& policy = facts.eviction_policy;
    if (!policy.empty() && !facts.may_evict(keys_expire)) {
        return finding(
            verdict::holds,
            "memory",
            "When its memory is full the server refuses new locks and throws none away "
            "(maxmemory-policy " +
                policy + ")."
        );
    }
    if (policy.empty()) {
        return finding(
            verdict::weak,
            "memory",
            "The server does not tell what it does when its memory is full."
        );
    }
    return finding(
        verdict::weak,
        "memory",
        "When its memory is full the server may throw locks away (maxmemory-policy " + policy +
            "): set noeviction."
    );
}

store_finding judge_durability(const server_facts& facts) {
    if (!facts.append_only) {
        return finding(
            verdict::weak,
            "durability",
            "After a restart of the server all locks are free once the largest TTL has passed: "
            "their holders are told, and tokens grow by the server's clock."
        );
    }
    if (facts.append_fsync != "always" || facts.fsync_stops_on_rewrite != std::optional(false)) {
        return finding(
            verdict::weak,
            "durability",
            "A power failure may undo the newest changes: set appendfsync always and "
            "no-appendfsync-on-rewrite no to keep them."
        );
    }
    return finding(verdict::holds, "durability", "Each change is on the disk before it counts.");
}

store_finding judge_tokens(const server_facts& facts) {
    if (facts.strength() == token_strength::strict) {
        return finding(
            verdict::holds, "tokens", "They never repeat nor fall, whatever crashes (strict)."
        );
    }
    return finding(
        verdict::weak,
        "tokens",
        "They grow over restarts, flushes and fail-overs as long as the server's clock is not set "
        "back meanwhile."
    );
}

store_finding judge_fail_over(const redis_examination& at) {
    const auto replicas = at.facts.replicas;
    if (!at.facts.known) {
        return finding(
            verdict::weak,
            "fail-over",
            "The server does not tell whether it has replicas: a fail-over may give a lock to two."
        );
    }
    if (replicas == 0 && !at.fails_over) {
        return finding(
            verdict::holds,
            "fail-over",
            "The server has no replica: locks are exclusive, and wait for it when it is down."
        );
    }
    if (at.min_replicas >= replicas && replicas != 0) {
        return finding(
            verdict::holds,
            "fail-over",
            "Each grant waits for " + std::to_string(at.min_replicas) + " of " +
                std::to_string(replicas) + " replicas: locks stay exclusive over a fail-over."
        );
    }
    return finding(
        verdict::weak,
        "fail-over",
        "The server has " + std::to_string(replicas) + " replicas and a grant waits for " +
            std::to_string(at.min_replicas) +
            ": a fail-over may give a lock to two. Set min_replicas to all that can be promoted."
    );
}

// A primary that is cut off does not ask whether it is still the one that counts.
store_finding judge_partition(const redis_examination& at) {
    const auto& wanted = at.facts.replicas_to_write;
    if (at.min_replicas != 0 || (!wanted.empty() && wanted != "0")) {
        return finding(
            verdict::holds,
            "partition",
            "A primary that is cut off from its replicas grants nothing any more."
        );
    }
    return finding(
        verdict::weak,
        "partition",
        "A primary that is cut off goes on granting to whoever reaches it, and the one that was "
        "promoted grants, too, for as long as that lasts: set min-replicas-to-write 1 and "
        "min-replicas-max-lag at the servers, or min_replicas here."
    );
}

store_finding judge_flush(const server_facts& facts) {
    if (facts.flush_is_heard) {
        return finding(verdict::holds, "flush", "Who flushes the database is heard at once.");
    }
    return finding(
        verdict::weak,
        "flush",
        "Who flushes the database is only noticed by the next heartbeat: allow CLIENT TRACKING."
    );
}

// Compares the settings with the TTLs that the store remembers: a flush erases those when they are
// needed, so only `longest_ttl` counts then.
store_finding judge_longest_ttl(const redis_examination& at) {
    return finding(
        verdict::weak,
        "longest TTL",
        "Some client has a TTL of " + std::to_string(at.remembered_ttl.count()) +
            " ms, or says that others may, and longest_ttl is " +
            std::to_string(at.longest_ttl.count()) +
            " ms here: after a flush a lock may have two holders. Set the same longest_ttl for all."
    );
}

store_finding judge_quarantine(const redis_examination& at) {
    return finding(
        verdict::weak,
        "quarantine",
        "Nothing is granted for another " + std::to_string(at.quarantine.count()) +
            " ms: the server is new, was restarted or was flushed, and may have forgotten who "
            "holds what. Where it surely never knew anything, say so (assume_new=1)."
    );
}

// Adds what the single-key form does not promise, whatever the server is.
void add_single_key(std::vector<store_finding>& found, const redis_examination& at) {
    found.push_back(finding(
        verdict::weak,
        "form",
        "The single-key form, for the sake of other clients: no queue, a lock that the server "
        "forgets is free at once, and its holder learns of it by the next heartbeat."
    ));
    if (at.tokens) {
        found.push_back(judge_tokens(at.facts));
    } else {
        found.push_back(finding(
            verdict::weak,
            "tokens",
            "There are none: no fence can be used. Ask for them (tokens=1)."
        ));
    }
    if (at.facts.replicas != 0 || at.fails_over) {
        found.push_back(finding(
            verdict::weak,
            "fail-over",
            "A fail-over may give a lock to two: in this form no grant waits for replicas."
        ));
    }
    if (at.has_session)
        found.push_back(judge_flush(at.facts));
}

}  // namespace

std::vector<store_finding> redis_examination::findings() const {
    std::vector<store_finding> found;
    found.push_back(judge_server(*this));
    found.push_back(judge_memory(facts, single_key));
    if (single_key) {
        add_single_key(found, *this);
        return found;
    }
    found.push_back(judge_durability(facts));
    found.push_back(judge_tokens(facts));
    found.push_back(judge_fail_over(*this));
    if (facts.replicas != 0 || fails_over)
        found.push_back(judge_partition(*this));
    if (has_session)
        found.push_back(judge_flush(facts));
    if (quarantine != quarantine.zero())
        found.push_back(judge_quarantine(*this));
    if (remembered_ttl > longest_ttl)
        found.push_back(judge_longest_ttl(*this));
    found.push_back(finding(
        verdict::holds,
        "sessions",
        std::to_string(sessions) + " sessions hold or wait for " + std::to_string(locks) + " locks."
    ));
    return found;
}

}  // namespace mortise::store_detail
