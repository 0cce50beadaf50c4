// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_STORE_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_STORE_HPP

#include "flash_sale/redis_process.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace flash_sale {

/// The store of the locks of the sale. Processes that are started later find its URL in the
/// environment variable MORTISE_STORE: only their user can read a password there.
class sale_store {
public:
    /// `wanted` is `sqlite`, `redis` (a server that lives as long as this object), or a URL.
    /// @throws std::exception if there is no such store.
    sale_store(const std::string& wanted, const std::filesystem::path& folder);

    /// A description for people.
    const std::string& title() const noexcept { return title_; }

private:
    std::optional<redis_process> server_;
    std::string title_;
};

}  // namespace flash_sale

#endif
