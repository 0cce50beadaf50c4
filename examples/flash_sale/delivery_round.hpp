// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_ROUND_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_DELIVERY_ROUND_HPP

#include "flash_sale/sale_options.hpp"
#include "flash_sale/shipping.hpp"

#include <filesystem>

namespace flash_sale {

/// What became of the orders of round 4. All but `repeated` and `killed` is what the databases say.
struct delivery_result {
    int ordered = 0;  ///< Messages that the shop has sent.
    int shipped = 0;
    int refused = 0;     ///< Messages that the shippers have sent.
    int taken_back = 0;  ///< By the shop.
    int twice = 0;       ///< Parcels and returns that are one too many.
    int repeated = 0;    ///< Messages that came again, without effect.
    int killed = 0;      ///< Processes that delivered.
    double seconds = 0;
    bool balanced =
        true;  ///< No money was lost or made, and the shop has that for what it shipped.

    int arrived() const { return shipped + refused; }

    /// Each message had its effect exactly once.
    bool exact(int sold) const {
        return balanced && twice == 0 && ordered == sold && arrived() == ordered &&
               refused == ordered / shipping::refused_share && taken_back == refused;
    }
};

/// Delivers what round 4 sold in that folder, and kills now and then who does.
/// @throws std::runtime_error
delivery_result
run_delivery_round(const sale_options& options, int sold, const std::filesystem::path& folder);

}  // namespace flash_sale

#endif
