// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"

#include "mortise/detail/text.hpp"

#include <string>
#include <utility>

namespace mortise {
namespace {

struct code_text {
    errc code;
    const char* text;
};

constexpr code_text texts[] = {
    {errc::busy, "the lock is held by somebody else"},
    {errc::lease_lost, "the lease was lost: the store gave the lock away"},
    {errc::lease_expired, "the lease is no longer sure: no heartbeat was acknowledged in time"},
    {errc::lease_released, "the lease was released before, or is empty"},
    {errc::outcome_unknown, "no answer came: the request may have taken effect"},
    {errc::client_stopped, "the lock client was stopped"},
    {errc::session_lost, "the store declared the session dead"},
    {errc::too_many_waiters, "too many acquires are waiting (client_config::waiters_max)"},
    {errc::forked, "a forked child cannot use the lock client of its parent: make a new one"},
    {errc::capacity_differs,
     "the lock is in use with another number of permits: all must name the same"},
    {errc::upgrade_refused,
     "this owner holds the lock shared: it must release it before it asks for more"},
    {errc::outer_lease_lost,
     "this owner has lost an earlier lease of the lock: it must let go of that one first"},
    {errc::too_many_holds,
     "this owner holds the lock too many times (client_config::holds_max): see who acquires it in "
     "a loop and keeps the leases"},
    {errc::stale_token, "a higher fencing token was admitted before: this writer is too late"},
    {errc::foreign_domain,
     "the fencing token comes from another domain than the resource was fenced with"},
    {errc::no_token,
     "the fencing token is empty: pass the token of a lease, of a store that gives tokens"},
    {errc::no_transaction,
     "the fence must be checked in the transaction that writes: begin one first"},
    {errc::name_empty, "the lock name is empty: use 1 to 1,024 bytes"},
    {errc::names_missing, "no lock was named: acquire at least one"},
    {errc::name_too_long, "the lock name is too long: use 1 to 1,024 bytes"},
    {errc::duration_negative, "a duration is negative: use zero or more"},
    {errc::duration_too_long,
     "a duration is too long: use at most 100 years, or milliseconds::max() for ever"},
    {errc::ttl_too_short, "the session's TTL is too short for the store"},
    {errc::ttl_too_long, "the session's TTL is too long for the store"},
    {errc::bad_mode, "a lock has 1 to 65,535 permits"},
    {errc::bad_config, "the configuration contradicts itself"},
    {errc::unknown_scheme, "no store answers to the scheme of this URL"},
    {errc::bad_url, "the store URL cannot be understood"},
    {errc::unsupported, "the store cannot do what was asked for"},
    {errc::store_unavailable, "the store does not answer, or cannot work just now"},
    {errc::store_full, "the store is full: free space on its disk, or in its memory"},
    {errc::store_corrupt, "the store's data contradicts itself"},
    {errc::store_replaced, "the store was replaced by another one while it was in use"},
    {errc::not_a_database, "the file is not an SQLite database"},
    {errc::not_a_store, "the database belongs to another program"},
    {errc::not_writable, "the store's file or folder cannot be written"},
    {errc::several_names,
     "the database file has several names, and users of one name do not see those of the "
     "other: use one name"},
    {errc::too_many_files, "no file descriptor is left: raise the limit of open files"},
    {errc::network_file_system,
     "the store lies on a network file system, where file locks cannot be trusted"},
    {errc::newer_format, "the store was written by a newer version of mortise"},
    {errc::foreign_time_namespace,
     "the store is in use from another time namespace: its deadlines cannot be compared"},
    {errc::too_many_sessions, "all places for sessions in the store are taken"},
    {errc::access_denied, "the server refuses the login, or what this login asks it to do"},
    {errc::wrong_server, "the answer did not come from a server that this store can use"},
    {errc::untrusted_server, "the server's certificate is not trusted, or names another host"},
    {errc::read_only_server, "the server is a replica and takes no writes: name the primary"},
    {errc::server_loading, "the server still loads its data: try again later"},
    {errc::server_busy, "a script keeps the server busy: try again later"},
    {errc::unsafe_server,
     "the server may forget locks: it evicts keys, or does not tell when it was restarted"},
    {errc::not_enough_replicas, "too few replicas acknowledged the write in time"},
    {errc::quarantined,
     "the store is new, was restarted or was flushed, and may have forgotten who holds the lock: "
     "it grants nothing yet (lock_client::explain says for how long)"},
    {errc::database_busy,
     "another connection holds the database: see which program keeps a transaction open"},
    {errc::rolled_back, "the transaction was undone as a whole: nothing was done, do it again"},
    {errc::transaction_control,
     "a closure does not begin or end transactions: return an error to undo its work"},
    {errc::commit_unknown,
     "the commit failed or was not answered: look in a new session, or at the server, whether the "
     "work was done"},
    {errc::poisoned, "a commit of this session failed before: open a new session"},
    {errc::row_missing, "there is no row of that id"},
    {errc::contended,
     "others changed the row first, each time: try again later, or raise attempts_max"},
    {errc::column_unknown, "the row has no such column"},
    {errc::column_type, "the column holds a value of another type"},
    {errc::value_refused, "a value cannot be sent to the database"},
    {errc::no_connection_free,
     "all connections of the session are in use: raise connections_max or wait_max, or see what "
     "keeps them"},
    {errc::row_busy,
     "another transaction holds the row, for longer than was to be waited: run this one again"},
};

const char* message_of(errc e) noexcept {
    for (const auto& each : texts) {
        if (each.code == e)
            return each.text;
    }
    return "unknown error of mortise";
}

class lock_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise"; }
    std::string message(int value) const override { return message_of(static_cast<errc>(value)); }
};

bool is_not_held(const error_code& code) noexcept {
    return code == errc::lease_lost || code == errc::lease_expired ||
           code == errc::lease_released || code == errc::session_lost ||
           code == errc::client_stopped || code == errc::stale_token || code == errc::forked ||
           code == errc::outer_lease_lost;
}

bool is_retryable(const error_code& code) noexcept {
    return code == errc::busy || code == errc::outcome_unknown || code == errc::session_lost ||
           code == errc::store_unavailable || code == errc::store_full ||
           code == errc::too_many_waiters || code == errc::too_many_sessions ||
           code == errc::too_many_files || code == errc::server_loading ||
           code == errc::server_busy || code == errc::read_only_server ||
           code == errc::not_enough_replicas || code == errc::quarantined ||
           code == errc::database_busy || code == errc::rolled_back || code == errc::contended ||
           code == errc::no_connection_free || code == errc::row_busy;
}

bool is_bad_argument(const error_code& code) noexcept {
    return code.category() == error_category() &&
           code.value() >= static_cast<int>(errc::name_empty) &&
           code.value() <= static_cast<int>(errc::unsupported);
}

class class_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.condition"; }

    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
        case condition::not_held:
            return "the lease is not, or not surely, held";
        case condition::retryable:
            return "the same call may succeed later";
        case condition::bad_argument:
            return "the call cannot succeed as it is";
        case condition::row_held:
            return "another transaction holds the row, the table or the database";
        }
        return "unknown condition of mortise";
    }

    bool equivalent(const error_code& code, int value) const noexcept override {
        switch (static_cast<condition>(value)) {
        case condition::not_held:
            return is_not_held(code);
        case condition::retryable:
            return is_retryable(code);
        case condition::bad_argument:
            return is_bad_argument(code);
        case condition::row_held:
            return code == errc::row_busy || code == errc::database_busy;
        }
        return false;
    }
};

// Makes one line of text of any value: names of locks are arbitrary bytes.
std::string printable(const std::string& value) {
    std::string text;
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            text += c;
            continue;
        }
        text += "\\x" + detail::hexadecimal(std::string_view(&c, 1));
    }
    return text;
}

std::string text_of(const error_code& code, const std::string& value, const std::string& remedy) {
    std::string text = code.message();
    // For a bad argument, replace the general hint in the message by the particular remedy.
    if (is_bad_argument(code) && !remedy.empty())
        text = text.substr(0, text.find(": "));
    if (!value.empty())
        text += ": " + printable(value);
    if (!remedy.empty())
        text += "; " + remedy;
    return text;
}

}  // namespace

const boost::system::error_category& error_category() noexcept {
    static const lock_category category;
    return category;
}

const boost::system::error_category& condition_category() noexcept {
    static const class_category category;
    return category;
}

error::error(error_code code, std::string value, std::string remedy)
    : system_error(code),
      value_(std::move(value)),
      remedy_(std::move(remedy)),
      what_(text_of(code, value_, remedy_)) {}

}  // namespace mortise
