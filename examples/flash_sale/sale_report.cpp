// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/sale_report.hpp"

#include <algorithm>
#include <array>
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

constexpr std::array names{
    "1, without a lock", "2, with a lock", "3, under attack", "4, with wallets"};

double sales_per_s(const round_result& round) {
    return round.seconds > 0 ? round.sold / round.seconds : 0;
}

void write_row(const round_result& round) {
    std::cout << std::left << std::setw(18) << names.at(static_cast<std::size_t>(round.round) - 1)
              << std::right << std::setw(7) << round.stock << std::setw(7) << round.sold
              << std::setw(14) << round.oversold() << std::setw(9) << std::fixed
              << std::setprecision(2) << round.seconds << std::setw(11) << std::setprecision(0)
              << sales_per_s(round) << std::setw(18) << round.refused << '\n';
}

void explain_careless(const round_result& round) {
    if (round.oversold() == 0)
        std::cout << "Round 1 did not oversell this time: that was luck, nothing prevented it.\n";
    else
        std::cout << "Without a lock, " << round.oversold()
                  << " buyers paid for what was not there.\n";
}

void explain_wrong(const round_result& round) {
    std::cout << "In round " << round.round << " the shop is off: " << round.sold << " sold, "
              << round.stock_left << " left of " << round.stock
              << (round.balanced ? "" : ", and the money does not add up")
              << ". That must not happen.\n";
}

void explain_locked(const sale_options& options) {
    std::cout
        << "With the lock, exactly what was there was sold. It takes longer since buyers take "
           "turns,\nand each of them thinks for "
        << options.think.count() << " ms.\n";
}

void explain_attacked(const round_result& round) {
    std::cout << "Under attack, too: " << round.killed << " were killed while they held the lock, "
              << round.stopped << " were stopped until others\nhad it. " << round.refused
              << (round.refused == 1 ? " write" : " writes")
              << " came too late, and the fence refused " << (round.refused == 1 ? "it" : "them")
              << ".\n";
}

void explain_wallets(const round_result& round) {
    std::cout << "Under the same attack (" << round.killed << " killed, " << round.stopped
              << " stopped) stock and money changed hands together: " << round.sold
              << " items are paid for,\n"
              << round.poor << (round.poor == 1 ? " buyer" : " buyers")
              << " had no money and got nothing, and every euro is where it belongs.\n";
}

void write_table(
    const sale_options& options,
    const std::string& store,
    const std::vector<round_result>& rounds,
    const delivery_result& delivery
) {
    std::cout
        << '\n'
        << options.processes << " processes with " << options.buyers << " buyers each, who come "
        << options.visits << " times at most; the locks are at " << store
        << (options.kafka.empty() ? "" : ", and Kafka has the messages") << "\n\n"
        << "round               stock   sold   oversold by  seconds   sales/s   late and refused\n";
    for (const round_result& each : rounds)
        write_row(each);
    std::cout << '\n';
    write_delivery_table(delivery);
    std::cout << '\n';
    for (const round_result& each : rounds) {
        if (each.round == 1)
            explain_careless(each);
        else if (!each.exact(options.demand()))
            explain_wrong(each);
        else if (each.round == 2)
            explain_locked(options);
        else if (each.round == 3)
            explain_attacked(each);
        else
            explain_wallets(each);
    }
    explain_delivery(delivery);
}

void write_json_row(const round_result& round) {
    std::cout << "{\"lock\":" << (round.round == 1 ? "false" : "true")
              << ",\"stock\":" << round.stock << ",\"sold\":" << round.sold
              << ",\"stock_left\":" << round.stock_left << ",\"oversold\":" << round.oversold()
              << ",\"refused\":" << round.refused << ",\"killed\":" << round.killed
              << ",\"stopped\":" << round.stopped << ",\"poor\":" << round.poor
              << ",\"balanced\":" << (round.balanced ? "true" : "false")
              << ",\"seconds\":" << std::fixed << std::setprecision(3) << round.seconds
              << ",\"sales_per_s\":" << std::setprecision(1) << sales_per_s(round) << '}';
}

void write_json(
    const std::vector<round_result>& rounds, const delivery_result& delivery, bool exact
) {
    const char* separator = "{\"rounds\":[";
    for (const round_result& each : rounds) {
        std::cout << separator;
        write_json_row(each);
        separator = ",";
    }
    std::cout << "],\"delivery\":";
    write_delivery_json(delivery);
    std::cout << ",\"exact\":" << (exact ? "true" : "false") << "}\n";
}

}  // namespace

bool report(
    const sale_options& options,
    const std::string& store,
    const std::vector<round_result>& rounds,
    const delivery_result& delivery
) {
    const bool sold_exactly =
        std::all_of(rounds.begin(), rounds.end(), [&](const round_result& each) {
            return each.round == 1 || each.exact(options.demand());
        });
    const bool exact = sold_exactly && delivery.exact();
    if (options.json)
        write_json(rounds, delivery, exact);
    else
        write_table(options, store, rounds, delivery);
    return exact;
}

}  // namespace flash_sale
