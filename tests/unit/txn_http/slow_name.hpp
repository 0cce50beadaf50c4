// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_HTTP_SLOW_NAME_HPP
#define MORTISE_TESTS_UNIT_TXN_HTTP_SLOW_NAME_HPP

#include <cstddef>
#include <memory>
#include <string>

namespace mortise::test {

/// The name of a host that the resolver of this program takes its time for: a thread that looks it
/// up waits there, as it would for a name server that does not answer. This program has a
/// `getaddrinfo` of its own for that.
class slow_name {
public:
    explicit slow_name(std::string host);
    /// Those who still wait are told that there is no such host.
    ~slow_name();
    slow_name(const slow_name&) = delete;
    slow_name& operator=(const slow_name&) = delete;

    /// It is 127.0.0.1, for those who wait and who come.
    void answer();
    /// There is no such host.
    void deny();
    /// Whoever looks it up from here on waits.
    void fall_silent();

    /// How often it was looked up.
    std::size_t asked() const;
    /// How many wait at this moment.
    std::size_t waiting() const;

    struct state;

private:
    const std::string host_;
    const std::shared_ptr<state> state_;
};

/// How often this program has looked up whatever name.
std::size_t names_looked_up();

}  // namespace mortise::test

#endif
