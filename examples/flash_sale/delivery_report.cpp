// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/delivery_report.hpp"

#include <iomanip>
#include <ios>
#include <iostream>

namespace flash_sale {
namespace {

void write_row(const char* title, int sent, int had_effect) {
    std::cout << std::left << std::setw(18) << title << std::right << std::setw(7) << sent
              << std::setw(13) << had_effect << '\n';
}

void say(const char* one, const char* more, int count) {
    std::cout << count << ' ' << (count == 1 ? one : more);
}

}  // namespace

void write_delivery_table(const delivery_result& result) {
    std::cout << "messages             sent   had effect\n";
    write_row("orders", result.ordered, result.arrived());
    write_row("refusals", result.refused, result.taken_back);
}

void explain_delivery(const delivery_result& result) {
    if (!result.exact()) {
        std::cout << "The messages are off: " << result.sold << " sold, " << result.ordered
                  << " ordered, " << result.shipped << " shipped, " << result.refused
                  << " refused, " << result.taken_back << " taken back, " << result.twice
                  << " twice"
                  << ", and the shop has " << result.paid << " euros"
                  << (result.balanced ? "" : ", and money is lost or made")
                  << ". That must not happen.\n";
        return;
    }
    std::cout << "Of those, " << result.shipped << " were shipped. The shippers refused "
              << result.refused << ": those items are back, and so is the money.\n";
    say("process was", "processes were", result.killed);
    std::cout << " killed while delivering; ";
    if (result.repeated > 0) {
        say("message came", "messages came", result.repeated);
        std::cout << " again, and had no second effect.\n";
    } else {
        std::cout << "no message came again.\n";
    }
}

void write_delivery_json(const delivery_result& result) {
    std::cout << "{\"ordered\":" << result.ordered << ",\"shipped\":" << result.shipped
              << ",\"refused\":" << result.refused << ",\"taken_back\":" << result.taken_back
              << ",\"twice\":" << result.twice << ",\"repeated\":" << result.repeated
              << ",\"killed\":" << result.killed
              << ",\"balanced\":" << (result.balanced ? "true" : "false")
              << ",\"seconds\":" << std::fixed << std::setprecision(3) << result.seconds << '}';
}

}  // namespace flash_sale
