// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVICE_HPP
#define MORTISE_EXAMPLES_ORDER_SERVICE_HPP

#include <cstdint>
#include <filesystem>
#include <string>

namespace order {

/// The database of a service: what it has, by name, of which some is reserved and some used up.
std::filesystem::path database_of(const std::filesystem::path& folder, const std::string& service);

/// Fills it: `lamp` for the stock, `customer-N` for the wallet, `coupon-N` for the coupons.
void create_database(
    const std::filesystem::path& folder, const std::string& service, const std::string& rows
);

/// Serves until SIGTERM, as a process of its own. Says its port on standard output.
int serve(const std::filesystem::path& folder, const std::string& service, std::uint16_t port);

}  // namespace order

#endif
