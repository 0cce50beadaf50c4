// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_BOOST_WIRE_HPP
#define MORTISE_STORE_REDIS_BOOST_WIRE_HPP

#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace mortise::store_detail {

/// Where a wire leads, and how it connects.
struct wire_settings {
    wire_settings() = default;

    std::string host;
    std::uint16_t port = 0;
    unsigned database = 0;
    std::string user;
    std::string password;
    bool tls = false;
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;
    std::filesystem::path key_file;
    std::chrono::milliseconds connect_max{5'000};
    bool sentinel = false;  ///< The server must be a sentinel, which is not a store.
};

/// Makes a wire by Boost.Redis, over TCP or TLS. It does not connect before `open`.
std::shared_ptr<redis_wire>
make_boost_wire(const boost::asio::any_io_executor& strand, wire_settings settings);

}  // namespace mortise::store_detail

#endif
