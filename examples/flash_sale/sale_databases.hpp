// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_DATABASES_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_DATABASES_HPP

#include "mortise/db/sqlite_config.hpp"

#include <chrono>
#include <filesystem>

namespace flash_sale {

// The databases of round 4: each belongs to another part of the company.
inline constexpr const char* goods_file = "goods.db";
inline constexpr const char* wallets_file = "wallets.db";
inline constexpr const char* shipping_file = "shipping.db";

/// Opens one of them, in the folder of the sale.
inline mortise::db::sqlite_config
database_in(const std::filesystem::path& folder, const char* file) {
    mortise::db::sqlite_config config;
    config.path = folder / file;
    config.busy_max = std::chrono::seconds(30);
    return config;
}

}  // namespace flash_sale

#endif
