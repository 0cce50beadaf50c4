// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"

#include <string>
#include <utility>

namespace mortise {
namespace {

const char* message_of(errc e) noexcept
{
    switch (e) {
    case errc::busy:
        return "the lock is held by somebody else";
    case errc::lease_lost:
        return "the lease was lost: the store gave the lock away";
    case errc::lease_expired:
        return "the lease is not sure any more: no heartbeat was acknowledged in time";
    case errc::lease_released:
        return "the lease was released before, or is empty";
    case errc::outcome_unknown:
        return "no answer came: the request may have taken effect";
    case errc::client_stopped:
        return "the lock client was stopped";
    case errc::session_lost:
        return "the store declared the session dead";
    case errc::too_many_waiters:
        return "too many acquires are waiting (client_config::waiters_max)";
    case errc::forked:
        return "a forked child cannot use the lock client of its parent: make a new one";
    case errc::stale_token:
        return "a higher fencing token was admitted before: this writer is too late";
    case errc::foreign_domain:
        return "the fencing token comes from another domain than the resource was fenced with";
    case errc::no_token:
        return "the fencing token is empty: pass the token of a lease";
    case errc::no_transaction:
        return "the fence must be checked in the transaction that writes: begin one first";
    case errc::name_empty:
        return "the lock name is empty: use 1 to 1,024 bytes";
    case errc::name_too_long:
        return "the lock name is too long: use 1 to 1,024 bytes";
    case errc::duration_negative:
        return "a duration is negative: use zero or more";
    case errc::duration_too_long:
        return "a duration is too long: use at most 100 years, or milliseconds::max() for ever";
    case errc::ttl_too_short:
        return "the session's TTL is too short for the store";
    case errc::ttl_too_long:
        return "the session's TTL is too long for the store";
    case errc::bad_config:
        return "the configuration contradicts itself";
    case errc::unknown_scheme:
        return "no store answers to the scheme of this URL";
    case errc::bad_url:
        return "the store URL cannot be understood";
    case errc::unsupported:
        return "the store cannot do what was asked for";
    case errc::store_unavailable:
        return "the store does not answer, or cannot work just now";
    case errc::store_full:
        return "the store is full: free space on its disk";
    case errc::store_corrupt:
        return "the store's data contradicts itself";
    case errc::store_replaced:
        return "the store was replaced by another one while it was in use";
    case errc::not_a_database:
        return "the file is not an SQLite database";
    case errc::not_a_store:
        return "the database belongs to something else than mortise";
    case errc::not_writable:
        return "the store's file or folder cannot be written";
    case errc::network_file_system:
        return "the store lies on a network file system, where file locks cannot be trusted";
    case errc::newer_format:
        return "the store was written by a newer version of mortise";
    case errc::foreign_time_namespace:
        return "the store is in use from another time namespace: its deadlines cannot be compared";
    case errc::too_many_sessions:
        return "every place for a session in the store is taken";
    }
    return "unknown error of mortise";
}

class lock_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise"; }
    std::string message(int value) const override { return message_of(static_cast<errc>(value)); }
};

bool is_not_held(const error_code& code) noexcept
{
    return code == errc::lease_lost || code == errc::lease_expired || code == errc::lease_released
        || code == errc::session_lost || code == errc::stale_token || code == errc::forked;
}

bool is_retryable(const error_code& code) noexcept
{
    return code == errc::busy || code == errc::outcome_unknown || code == errc::session_lost
        || code == errc::store_unavailable || code == errc::store_full
        || code == errc::too_many_waiters || code == errc::too_many_sessions;
}

bool is_bad_argument(const error_code& code) noexcept
{
    return code.category() == error_category() && code.value() >= static_cast<int>(errc::name_empty)
        && code.value() <= static_cast<int>(errc::unsupported);
}

class class_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.condition"; }

    std::string message(int value) const override
    {
        switch (static_cast<condition>(value)) {
        case condition::not_held:
            return "the lease is not, or not surely, held";
        case condition::retryable:
            return "the same call may succeed later";
        case condition::bad_argument:
            return "the call cannot succeed as it is";
        }
        return "unknown condition of mortise";
    }

    bool equivalent(const error_code& code, int value) const noexcept override
    {
        switch (static_cast<condition>(value)) {
        case condition::not_held:
            return is_not_held(code);
        case condition::retryable:
            return is_retryable(code);
        case condition::bad_argument:
            return is_bad_argument(code);
        }
        return false;
    }
};

std::string text_of(const error_code& code, const std::string& value, const std::string& remedy)
{
    std::string text = code.message();
    if (!value.empty())
        text += ": " + value;
    if (!remedy.empty())
        text += "; " + remedy;
    return text;
}

}  // namespace

const boost::system::error_category& error_category() noexcept
{
    static const lock_category category;
    return category;
}

const boost::system::error_category& condition_category() noexcept
{
    static const class_category category;
    return category;
}

error::error(error_code code, std::string value, std::string remedy)
    : system_error(code)
    , value_(std::move(value))
    , remedy_(std::move(remedy))
    , what_(text_of(code, value_, remedy_))
{}

}  // namespace mortise
