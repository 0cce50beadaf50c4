// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_store.hpp"

#include "mortise/open_store.hpp"

#include <stdlib.h>

#include <stdexcept>

namespace flash_sale {

sale_store::sale_store(const std::string& wanted, const std::filesystem::path& folder) {
    std::string url = wanted;
    if (wanted == "redis") {
        server_.emplace(folder);
        // The server is new, so nobody can hold a lock from before: skip the quarantine.
        url = "redis://127.0.0.1:" + std::to_string(server_->port()) + "/?assume_new=1";
        title_ = "a Redis server of its own";
    } else if (wanted == "sqlite") {
        url = "sqlite:" + (folder / "locks.db").native();
        title_ = "SQLite";
    } else {
        mortise::open_store(url);  // only checks the URL
        title_ = mortise::without_passwords(url);
    }
    if (::setenv("MORTISE_STORE", url.c_str(), 1) != 0)
        throw std::runtime_error("the environment is full");
}

}  // namespace flash_sale
