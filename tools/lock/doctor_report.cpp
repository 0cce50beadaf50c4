// SPDX-License-Identifier: BSL-1.0
#include "lock/doctor_report.hpp"

#include "common/printable.hpp"
#include "common/text_table.hpp"
#include "common/time_text.hpp"

#include <algorithm>
#include <ostream>

namespace mortise::tool {
namespace {

using verdict = store_finding::verdict;

/// A mark that is easy to see, and to find with `grep`.
const char* mark_of(verdict judgement) noexcept {
    switch (judgement) {
    case verdict::holds:
        return "ok";
    case verdict::weak:
        return "weak";
    case verdict::broken:
        break;
    }
    return "BROKEN";
}

}  // namespace

const char* to_string(verdict judgement) noexcept {
    switch (judgement) {
    case verdict::holds:
        return "holds";
    case verdict::weak:
        return "weak";
    case verdict::broken:
        break;
    }
    return "broken";
}

void doctor_report::begin(std::string group) {
    group_ = std::move(group);
}

void doctor_report::add(verdict judgement, std::string subject, std::string found) {
    line added;
    added.group = group_;
    added.finding.judgement = judgement;
    added.finding.subject = std::move(subject);
    added.finding.found = std::move(found);
    lines_.push_back(std::move(added));
    worst_ = std::max(worst_, judgement);
}

void doctor_report::add_promises(const store_traits& traits) {
    const auto promise = [&](bool kept, const char* subject, const char* yes, const char* no) {
        add(kept ? verdict::holds : verdict::weak, subject, kept ? yes : no);
    };
    if (traits.strength == token_strength::absent)
        add(verdict::weak, "tokens", "There are none: no fence can be used.");
    else if (traits.strength == token_strength::durable_if_configured)
        add(verdict::weak,
            "tokens",
            "They never fall if the server is set up for it, which it does not prove.");
    else
        promise(
            traits.strength == token_strength::strict,
            "tokens",
            "They grow with every grant, whatever crashes.",
            "They grow while the store lives, and may begin again after a restart."
        );
    promise(
        traits.push,
        "pushed grants",
        "Who waits is told when the lock is its own.",
        "Who waits is told at most that the lock is free, and has to ask for it."
    );
    promise(
        traits.fair,
        "first come, first served",
        "Requests are granted in the order in which they reached the store.",
        "Who comes later may get the lock first."
    );
    promise(
        traits.server_clock,
        "one clock",
        "Deadlines are judged by a clock of the store's own.",
        "Deadlines are judged by the clocks of the clients, which must agree."
    );
    const std::string known = std::string("exclusive") + (traits.shared ? ", shared" : "") +
                              (traits.permits ? ", permits" : "") +
                              (traits.hold_max ? ", and a longest time to hold" : "");
    add(traits.shared && traits.permits && traits.hold_max ? verdict::holds : verdict::weak,
        "modes",
        "It knows " + known + '.');
    add(verdict::holds,
        "TTL of a session",
        "From " + duration_text(traits.ttl_min) + " to " + duration_text(traits.ttl_max) + '.');
}

std::size_t doctor_report::count_of(verdict judgement) const {
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(),
        lines_.end(),
        [&](const line& each) { return each.finding.judgement == judgement; }
    ));
}

void doctor_report::write(std::ostream& out) const {
    text_table table({"ABOUT", "MARK", "WHAT", "FOUND"});
    std::string before;
    for (const line& each : lines_) {
        table.add(
            {each.group == before ? "" : each.group,
             mark_of(each.finding.judgement),
             printable(each.finding.subject, newlines::as_spaces),
             printable(each.finding.found, newlines::as_spaces)}
        );
        before = each.group;
    }
    table.write(out);
    out << '\n';
    const std::size_t broken = count_of(verdict::broken);
    const std::size_t weak = count_of(verdict::weak);
    if (broken != 0)
        out << "Verdict: broken. " << broken << (broken == 1 ? " thing has" : " things have")
            << " to be mended before this store is used.\n";
    else if (weak != 0)
        out << "Verdict: works, with " << weak
            << (weak == 1 ? " weak point.\n" : " weak points.\n");
    else
        out << "Verdict: every promise holds.\n";
}

void doctor_report::write_json(std::ostream& out, const std::string& store) const {
    json::array findings;
    for (const line& each : lines_)
        findings.push_back(json::object{
            {"group", each.group},
            {"verdict", to_string(each.finding.judgement)},
            {"subject", json_text(each.finding.subject)},
            {"found", json_text(each.finding.found)}});
    json::object fields;
    set_bytes(fields, "store", store);
    fields["findings"] = std::move(findings);
    fields["measured"] = measured_;
    fields["verdict"] = to_string(worst_);
    out << json::serialize(fields) << '\n';
}

}  // namespace mortise::tool
