// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_failure.hpp"

namespace mortise::store_detail {
namespace {

struct refusal {
    std::string_view begins;
    errc meaning;
};

constexpr refusal refusals[] = {
    {"NOAUTH", errc::access_denied},
    {"WRONGPASS", errc::access_denied},
    {"NOPERM", errc::access_denied},
    {"DENIED", errc::access_denied},
    {"ERR The user executing the script", errc::access_denied},
    {"The user executing the script", errc::access_denied},
    {"ERR ACL failure in script", errc::access_denied},
    {"ERR AUTH", errc::access_denied},
    {"ERR invalid password", errc::access_denied},
    {"OOM", errc::store_full},
    {"LOADING", errc::server_loading},
    {"BUSY ", errc::server_busy},
    {"READONLY", errc::read_only_server},
    {"MISCONF", errc::not_writable},
    {"NOREPLICAS", errc::not_enough_replicas},
    {"CROSSSLOT", errc::wrong_server},
    {"ERR unknown command", errc::wrong_server},
    {"NOPROTO", errc::wrong_server},
    {"WRONGTYPE", errc::not_a_store},
    {"ERR DB index is out of range", errc::bad_config},
};

struct remedy {
    errc code;
    std::string_view text;
};

constexpr remedy remedies[] = {
    {errc::access_denied,
     "check user and password, and that the user may run scripts, subscribe and publish "
     "(docs/stores/redis.md lists what it needs)"},
    {errc::store_full, "raise maxmemory, or see what fills the server"},
    {errc::server_loading, "wait until the server has loaded its data"},
    {errc::server_busy, "see which script keeps the server busy; SCRIPT KILL ends it"},
    {errc::read_only_server, "name the primary, or sentinels that know it"},
    {errc::not_writable, "see why the server cannot save its data; its log says so"},
    {errc::not_enough_replicas, "see why replicas do not follow, or ask for fewer (min_replicas)"},
    {errc::wrong_server,
     "name a Redis server of version 6 or newer; nodes of a cluster by redis+cluster://"},
    {errc::not_a_store, "give mortise a prefix of its own (prefix=...)"},
    {errc::untrusted_server,
     "name the host as its certificate does, or that name (tls_name=...), and the authority "
     "(ca_file=...)"},
    {errc::unsafe_server,
     "set maxmemory-policy noeviction, or accept lost locks (allow_eviction=1)"},
    {errc::bad_config, "name a database that the server has, and the domain that the store has"},
    {errc::store_corrupt, "see what else writes keys that begin with the prefix of the store"},
    {errc::unsupported, "use the queue form of the store for that: leave out form=single_key"},
    {errc::newer_format, "use the version of mortise that the others use"},
    {errc::too_many_files, "raise the limit of open files (ulimit -n)"},
};

// Redis 6 tells why a command of a script was refused behind the place of that command: "ERR Error
// running script (call to f_...): @user_script:7: @user_script: 7: -READONLY You can't write ...".
std::string_view cause_in(std::string_view message) noexcept {
    constexpr std::string_view place = "@user_script:";
    const auto last = message.rfind(place);
    if (!message.starts_with("ERR Error running script") || last == std::string_view::npos)
        return message;
    const auto line_end = message.find(": ", last + place.size());
    if (line_end == std::string_view::npos)
        return message;
    const auto cause = message.substr(line_end + 2);
    return cause.starts_with('-') ? cause.substr(1) : cause;
}

}  // namespace

errc meaning_of_refusal(std::string_view message) noexcept {
    const auto cause = cause_in(message);
    for (const auto& each : refusals) {
        if (cause.starts_with(each.begins))
            return each.meaning;
    }
    return errc::store_unavailable;
}

bool is_elsewhere(std::string_view message) noexcept {
    return message.starts_with("MOVED ") || message.starts_with("CLUSTERDOWN");
}

bool is_in_motion(std::string_view message) noexcept {
    return message.starts_with("ASK ") || message.starts_with("TRYAGAIN");
}

bool refuses_user(errc meaning) noexcept {
    return meaning == errc::access_denied || meaning == errc::wrong_server;
}

std::string_view redis_remedy(const error_code& code) noexcept {
    for (const auto& each : remedies) {
        if (code == each.code)
            return each.text;
    }
    return "see whether the server runs and can be reached";
}

std::string_view redis_remedy(const redis_failure& why) noexcept {
    if (why.code == errc::unsafe_server && why.text.find("INFO") != std::string::npos) {
        return "let the user run INFO (+info), or accept that a lock may have two holders after a "
               "restart (allow_unseen_restarts=1)";
    }
    if (why.text.starts_with("DENIED")) {
        return "give the server a password and name it here: it is in protected mode, and answers "
               "no other host without one";
    }
    return redis_remedy(why.code);
}

}  // namespace mortise::store_detail
