// SPDX-License-Identifier: BSL-1.0
#include "sim/judge.hpp"

#include "mortise/sim/world.hpp"

namespace mortise::test {
namespace {

bool together(const lease& one, const lease& other, lock_mode mode) {
    switch (mode.type()) {
    case lock_mode::kind::exclusive:
        return false;
    case lock_mode::kind::shared:
        return true;
    case lock_mode::kind::permits:
        return one.slot() != other.slot();
    }
    return false;
}

}  // namespace

judge::witness::witness(judge& by, sim::process& who, const lease& held, lock_mode mode)
    : by_(by), who_(who), held_(held), name_(held.name()), mode_(mode) {
    by_.present_.push_back(this);
    ++by_.grants_;
    if (who_.in().listened_to()) {
        who_.in().say(
            who_.name() + " has " + name_ + " with " + std::to_string(held.token().value) +
            (held.held() ? ", surely for another " : ", not held for ") +
            std::to_string((held.valid_until() - who_.local_now()).count() / 1'000'000) + " ms"
        );
    }
    by_.check_token(*this);
    by_.check_against_others(*this);
}

judge::witness::~witness() {
    if (who_.in().listened_to())
        who_.in().say(who_.name() + " lets go of " + name_);
    by_.present_.remove(this);
}

void judge::look(const sim::process& who) {
    for (const witness* each : present_) {
        if (&each->who_ == &who)
            check_against_others(*each);
    }
}

// Checks that a token belongs to one grant, or to one phase of readers.
void judge::check_token(const witness& of) {
    const auto token = of.held_.token();
    const std::pair key{of.name_ + ' ' + std::string(token.domain.name()), token.value};
    const auto [known, fresh] = tokens_.try_emplace(key, of.mode_);
    if (!fresh && (of.mode_ != lock_mode::shared() || known->second != lock_mode::shared()))
        fail("token " + std::to_string(token.value) + " of " + of.name_ + " was given twice");
}

void judge::check_against_others(const witness& of) {
    if (!of.held_.held())
        return;
    for (const witness* each : present_) {
        if (each == &of || each->name_ != of.name_ || each->who_.paused() || !each->who_.alive() ||
            !each->held_.held())
            continue;
        if (each->mode_ == of.mode_ && together(each->held_, of.held_, of.mode_))
            continue;
        fail(
            of.who_.name() + " and " + each->who_.name() + " hold " + of.name_ +
            " at the same time, with tokens " + std::to_string(of.held_.token().value) + " and " +
            std::to_string(each->held_.token().value)
        );
    }
}

void judge::fail(const std::string& fault) {
    if (verdict_.empty())
        verdict_ = fault;
}

}  // namespace mortise::test
