// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PORT_RESERVATION_HPP
#define MORTISE_TESTS_SUPPORT_PORT_RESERVATION_HPP

#include <cstdint>

namespace mortise::test {

/// A free TCP port of 127.0.0.1 that stays ours: a socket is bound to it and never listens. A
/// server that sets `SO_REUSEADDR`, as servers do, may listen there, stop and listen again; nobody
/// else is given the port meanwhile. While nobody listens, connections are refused.
class port_reservation {
public:
    /// @throws std::system_error
    port_reservation();
    ~port_reservation();
    port_reservation(const port_reservation&) = delete;
    port_reservation& operator=(const port_reservation&) = delete;

    std::uint16_t port() const noexcept { return port_; }

private:
    int socket_;
    std::uint16_t port_ = 0;
};

}  // namespace mortise::test

#endif
