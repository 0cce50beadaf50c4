// SPDX-License-Identifier: BSL-1.0
#include "log/plan.hpp"

#include "log/record_format.hpp"

#include <utility>

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
    plan plan;
    if (from.number() != plan_version)
        return std::nullopt;
    plan.traceparent = from.text();
    const auto locks = from.count();
    for (std::uint64_t i = 0; i < locks && from.good(); ++i) {
        auto& each = plan.locks.emplace_back();
        each.name = from.text();
        const auto domain = token_domain::parse(from.text());
        each.token.domain = domain.value_or(token_domain());
        each.token.value = from.number();
    }
    const auto branches = from.count();
    if (branches == 0 || branches > branches_max)
        return std::nullopt;
    for (std::uint64_t i = 0; i < branches && from.good(); ++i) {
        auto& each = plan.branches.emplace_back();
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
    return plan;
}

namespace {

constexpr std::uint64_t progress_version = 1;
constexpr auto last_operation = static_cast<std::uint64_t>(operation::cancel);
constexpr auto last_verdict = static_cast<std::uint64_t>(call_view::verdict::failed);
constexpr std::uint64_t microseconds_max = std::uint64_t{1} << 62;

constexpr std::uint64_t finished = 1;
constexpr std::uint64_t skipped = 2;
constexpr std::uint64_t stuck = 4;

std::chrono::microseconds microseconds_in(record_reader& from) {
    return std::chrono::microseconds(static_cast<std::int64_t>(from.number(microseconds_max)));
}

void write(record_writer& to, const call_view& view) {
    to.number(static_cast<std::uint64_t>(view.type));
    to.number(view.attempt);
    to.number(view.epoch);
    to.number(static_cast<std::uint64_t>(view.begun.count()));
    to.number(static_cast<std::uint64_t>(view.took.count()));
    to.number(static_cast<std::uint64_t>(view.result));
    to.text(view.text);
}

call_view read_call(record_reader& from) {
    call_view view;
    view.type = static_cast<operation>(from.number(last_operation));
    view.attempt = static_cast<std::uint32_t>(from.number(0xffff'ffff));
    view.epoch = from.number();
    view.begun = microseconds_in(from);
    view.took = microseconds_in(from);
    view.result = static_cast<call_view::verdict>(from.number(last_verdict));
    view.text = from.text();
    return view;
}

}  // namespace

void progress::note(branch_number number, call_view view) {
    auto& of = branches.at(number - 1);
    ++of.calls;
    if (of.newest.size() == calls_kept)
        of.newest.erase(of.newest.begin());
    of.newest.push_back(std::move(view));
}

std::string progress::encode() const {
    record_writer to;
    to.number(progress_version);
    to.number(branches.size());
    for (const auto& each : branches) {
        to.number(finished * each.finished + skipped * each.skipped + stuck * each.stuck);
        to.number(each.calls);
        to.number(each.newest.size());
        for (const auto& view : each.newest)
            write(to, view);
    }
    return to.take();
}

std::optional<progress> progress::decode(std::string_view record) {
    record_reader from(record);
    progress progress;
    if (from.number() != progress_version)
        return std::nullopt;
    const auto branches = from.count();
    if (branches > branches_max)
        return std::nullopt;
    for (std::uint64_t i = 0; i < branches && from.good(); ++i) {
        auto& each = progress.branches.emplace_back();
        const auto flags = from.number(finished | skipped | stuck);
        each.finished = (flags & finished) != 0;
        each.skipped = (flags & skipped) != 0;
        each.stuck = (flags & stuck) != 0;
        each.calls = from.number();
        const auto calls = from.count();
        if (calls > calls_kept)
            return std::nullopt;
        for (std::uint64_t k = 0; k < calls && from.good(); ++k)
            each.newest.push_back(read_call(from));
    }
    if (!from.done())
        return std::nullopt;
    return progress;
}

}  // namespace mortise::txn::log
