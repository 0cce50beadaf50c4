// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_STORE_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_STORE_HPP

#include "flash_sale/redis_process.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace flash_sale {

/// Where the locks of the sale are. All processes that are started later find it in their
/// environment, under MORTISE_STORE: there nobody but their user can read a password.
class sale_store {
public:
    /// `wanted` is `sqlite`, `redis` (a server that lives as long as this), or a URL.
    /// @throws std::exception if there is no such store.
    sale_store(const std::string& wanted, const std::filesystem::path& folder);

    /// For people: what it is.
    const std::string& title() const noexcept { return title_; }

private:
    std::optional<redis_process> server_;
    std::string title_;
};

}  // namespace flash_sale

#endif
