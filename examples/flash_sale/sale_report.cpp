// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_report.hpp"

#include <iomanip>
#include <ios>
#include <iostream>

namespace flash_sale {
namespace {

double sales_per_s(const round_result& round) {
    return round.seconds > 0 ? round.sold / round.seconds : 0;
}

void write_row(const round_result& round) {
    std::cout << std::left << std::setw(18)
              << (round.round == 1 ? "1, without a lock" : "2, with a lock") << std::right
              << std::setw(7) << round.stock << std::setw(7) << round.sold << std::setw(14)
              << round.oversold() << std::setw(9) << std::fixed << std::setprecision(2)
              << round.seconds << std::setw(11) << std::setprecision(0) << sales_per_s(round)
              << std::setw(18) << round.refused << '\n';
}

void write_table(
    const sale_options& options, const round_result& without, const round_result& with
) {
    std::cout
        << '\n'
        << options.processes << " processes with " << options.buyers << " buyers each, who come "
        << options.visits << " times at most\n\n"
        << "round               stock   sold   oversold by  seconds   sales/s   late and refused\n";
    write_row(without);
    write_row(with);
    std::cout << '\n';
    if (without.oversold() == 0)
        std::cout << "Round 1 did not oversell this time: that was luck, nothing prevented it.\n";
    else
        std::cout << "Without a lock, " << without.oversold()
                  << " buyers paid for what was not there.\n";
    if (with.exact(options.demand()))
        std::cout
            << "With the lock, exactly what was there was sold. It takes longer since buyers take "
               "turns,\nand each of them thinks for "
            << options.think.count() << " ms.\n";
    else
        std::cout << "With the lock the shop is off: " << with.sold << " sold, " << with.stock_left
                  << " left of " << with.stock << ". That must not happen.\n";
}

void write_json_row(const round_result& round) {
    std::cout << "{\"lock\":" << (round.round == 2 ? "true" : "false")
              << ",\"stock\":" << round.stock << ",\"sold\":" << round.sold
              << ",\"stock_left\":" << round.stock_left << ",\"oversold\":" << round.oversold()
              << ",\"refused\":" << round.refused << ",\"seconds\":" << std::fixed
              << std::setprecision(3) << round.seconds
              << ",\"sales_per_s\":" << std::setprecision(1) << sales_per_s(round) << '}';
}

}  // namespace

void report(const sale_options& options, const round_result& without, const round_result& with) {
    if (!options.json) {
        write_table(options, without, with);
        return;
    }
    std::cout << "{\"rounds\":[";
    write_json_row(without);
    std::cout << ',';
    write_json_row(with);
    std::cout << "],\"exact\":" << (with.exact(options.demand()) ? "true" : "false") << "}\n";
}

}  // namespace flash_sale
