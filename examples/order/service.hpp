// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVICE_HPP
#define MORTISE_EXAMPLES_ORDER_SERVICE_HPP

#include <cstdint>
#include <filesystem>
#include <string>

namespace order {

/// The database of a service. For each name it holds what is there, what is reserved, and what is
/// used.
std::filesystem::path database_of(const std::filesystem::path& folder, const std::string& service);

/// Fills the database: `lamp` for the stock, `customer-N` for the wallet, `coupon-N` for the
/// coupons.
void create_database(
    const std::filesystem::path& folder, const std::string& service, const std::string& rows
);

/// Runs the service in this process until SIGTERM. Prints its port to the standard output.
int serve(const std::filesystem::path& folder, const std::string& service, std::uint16_t port);

}  // namespace order

#endif
