// SPDX-License-Identifier: BSL-1.0
#include "storm/trace.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace mortise::storm {
namespace {

const char* name_of(ending end) {
    switch (end) {
    case ending::waiting:
        return "waiting";
    case ending::holding:
        return "holding";
    case ending::released:
        return "released";
    case ending::lost:
        return "lost";
    case ending::busy:
        return "busy";
    case ending::cancelled:
        return "cancelled";
    case ending::store_away:
        return "store_away";
    case ending::failed:
        break;
    }
    return "failed";
}

std::string text_of(const record& of) {
    std::ostringstream text;
    text << "lock " << int{of.lock} << " process " << of.process << " mode " << int{of.mode}
         << " slot " << of.slot << ' ' << name_of(of.end) << " code " << of.code << " token "
         << of.token << " asked " << of.asked << " granted " << of.granted << " held "
         << of.held_from << " to " << of.held_until << " let_go " << of.let_go << " ended "
         << of.ended << (of.held_though_refused ? " HELD THOUGH REFUSED" : "");
    return text.str();
}

std::string text_of(const blow& of) {
    std::ostringstream text;
    text << (of.type == blow::kind::kill ? "kill" : "stop") << " of process " << of.process
         << " until " << of.until;
    return text.str();
}

}  // namespace

void write_trace(
    const std::string& file,
    std::span<const record> records,
    std::span<const blow> blows,
    std::span<const ground::event> events
) {
    std::multimap<std::int64_t, std::string> lines;
    for (const record& each : records) {
        if (each.process != 0)
            lines.emplace(each.granted != 0 ? each.granted : each.asked, text_of(each));
    }
    for (const blow& each : blows)
        lines.emplace(each.from, text_of(each));
    for (const auto& each : events) {
        lines.emplace(each.from, each.name + ", begins");
        lines.emplace(each.until, each.name + ", done");
    }
    std::ofstream out(file);
    for (const auto& [at, text] : lines)
        out << at << ' ' << text << '\n';
    if (!out.flush())
        throw std::runtime_error(file + " cannot be written");
}

}  // namespace mortise::storm
