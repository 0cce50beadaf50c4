// SPDX-License-Identifier: BSL-1.0
#include "log/plan.hpp"

#include "log/limits.hpp"
#include "log/record_reader.hpp"
#include "log/record_writer.hpp"

namespace mortise::txn::log {
namespace {

constexpr std::uint64_t plan_version = 1;

}  // namespace

std::string plan::encode() const {
    record_writer to;
    to.number(plan_version);
    to.text(traceparent);
    to.number(locks.size());
    for (const auto& each : locks) {
        to.text(each.name);
        to.text(each.token.domain.name());
        to.number(each.token.value);
    }
    to.number(branches.size());
    for (const auto& each : branches) {
        to.text(each.participant);
        to.text(each.payload);
        to.number(each.after.size());
        for (const auto before : each.after)
            to.number(before);
    }
    return to.take();
}

std::optional<plan> plan::decode(std::string_view record) {
    record_reader from(record);
    plan made;
    if (from.number() != plan_version)
        return std::nullopt;
    made.traceparent = from.text();
    const auto locks = from.count();
    for (std::uint64_t i = 0; i < locks && from.good(); ++i) {
        auto& each = made.locks.emplace_back();
        each.name = from.text();
        const auto domain = token_domain::parse(from.text());
        each.token.domain = domain.value_or(token_domain());
        each.token.value = from.number();
    }
    const auto branches = from.count();
    if (branches == 0 || branches > branches_max)
        return std::nullopt;
    for (std::uint64_t i = 0; i < branches && from.good(); ++i) {
        auto& each = made.branches.emplace_back();
        each.participant = from.text();
        each.payload = from.text();
        const auto after = from.count();
        for (std::uint64_t k = 0; k < after && from.good(); ++k) {
            each.after.push_back(static_cast<branch_number>(from.number(i)));
            if (each.after.back() == 0)
                return std::nullopt;
        }
    }
    if (!from.done())
        return std::nullopt;
    return made;
}

}  // namespace mortise::txn::log
