// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SHOP_DATABASE_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SHOP_DATABASE_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

#include <filesystem>
#include <memory>

struct sqlite3;

namespace flash_sale {

/// The shop: one row with the stock, and a row for each order. Plain SQLite calls, which block.
/// Only one thread at a time.
///
/// @throws std::runtime_error if SQLite reports an error.
class shop_database {
public:
    static shop_database create(const std::filesystem::path& file, int stock);

    explicit shop_database(const std::filesystem::path& file);

    int read_stock();
    int count_orders();

    /// Writes the new stock and the order, in one transaction.
    void write_sale(int stock_left, int buyer);

    /// Refuses all later writers with a lower token.
    mortise::error_code raise_fence(const mortise::fencing_token& token);

    /// Does the same as `write_sale`, unless a writer with a higher token came before.
    mortise::error_code
    write_sale_fenced(int stock_left, int buyer, const mortise::fencing_token& token);

private:
    struct closer {
        void operator()(sqlite3* db) const noexcept;
    };

    void execute(const char* sql);
    int number_of(const char* sql);
    void write_rows(int stock_left, int buyer);

    std::unique_ptr<sqlite3, closer> db_;
};

}  // namespace flash_sale

#endif
