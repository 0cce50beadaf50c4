// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_DATAGRAM_RELAY_HPP
#define MORTISE_TESTS_CONFORMANCE_DATAGRAM_RELAY_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace mortise::test {

/// Stands between the senders of datagrams and the named sockets of one folder: it takes the name
/// of each socket for itself, and passes on what comes, once, twice, late or never.
///
/// @par Threads That of the context.
class datagram_relay {
public:
    /// How often a datagram is passed on, and when.
    enum class delivery { once, never, late, twice };

    /// Relays for the sockets in `folder` whose names end with `suffix`. They are moved to `away`.
    datagram_relay(
        asio::io_context& context,
        std::filesystem::path folder,
        std::string suffix,
        std::filesystem::path away
    );
    ~datagram_relay();
    datagram_relay(const datagram_relay&) = delete;
    datagram_relay& operator=(const datagram_relay&) = delete;

    /// Takes the place of sockets that are new, and gives up that of sockets that are gone. A
    /// sender that has used a socket before may go on to send past the relay.
    void look();

    /// Sets who is asked about each datagram from now on.
    void decide(std::function<delivery()> judge) { judge_ = std::move(judge); }

private:
    class place;

    asio::io_context& context_;
    const std::filesystem::path folder_;
    const std::string suffix_;
    const std::filesystem::path away_;
    std::map<std::string, std::shared_ptr<place>> places_;
    std::function<delivery()> judge_;
};

}  // namespace mortise::test

#endif
