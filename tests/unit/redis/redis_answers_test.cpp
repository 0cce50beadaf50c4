// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_answers.hpp"
#include "store/store_domain.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::store_detail::redis_answers_test {
namespace {

using namespace std::chrono_literals;
using test::array_reply;
using test::error_reply;
using test::number_reply;
using test::text_reply;
using test::texts_reply;

// As long as that of a store can be.
const token_domain store_domain = *token_domain::parse("a-name-of-25-characters-x");
const std::string run_id = "00000000000000010000000000000002ffffffff";
const std::string holder_id = "0123456789abcdeffedcba9876543210";

error_code code_of(const auto& parsed) {
    return parsed ? error_code() : parsed.error();
}

// Values that no script returns, whatever was asked.
std::vector<redis_value> nonsense() {
    return {
        redis_value(),
        number_reply(0),
        number_reply(-1),
        text_reply(""),
        text_reply(" "),
        text_reply("?"),
        text_reply("ok"),
        error_reply("ERR o"),
        array_reply({}),
        array_reply({array_reply({})}),
        array_reply({number_reply(1), text_reply("o")}),
        texts_reply({"", ""}),
        texts_reply({"?", "1", "2", "3", "4"}),
    };
}

TEST(RedisAnswers, ToAResumptionGiveTheRunAndTheDomain) {
    const auto session = parse_resumed(texts_reply({"o", run_id, "shop", "250", "5000000", "9"}));
    ASSERT_TRUE(session);
    EXPECT_EQ(session->incarnation, (random_id{1, 2}));
    EXPECT_EQ(session->domain.name(), "shop");
    EXPECT_EQ(session->run, run_id);
    EXPECT_EQ(session->quarantine, 250us);
    EXPECT_EQ(session->now, 5'000'000u);
    EXPECT_EQ(session->changes, 9u);
}

TEST(RedisAnswers, SayWhetherThereIsNoStoreAndWhetherTheShortWaysApply) {
    EXPECT_TRUE(is_missing(texts_reply({"m"})));
    EXPECT_FALSE(is_missing(texts_reply({"o", run_id})));
    EXPECT_TRUE(is_out_of_ordinary(text_reply("+")));
    EXPECT_FALSE(is_out_of_ordinary(text_reply("y")));
}

TEST(RedisAnswers, ToAResumptionHaveALetterForEachRefusal) {
    EXPECT_EQ(code_of(parse_resumed(texts_reply({"l"}))), errc::session_lost);
    EXPECT_EQ(code_of(parse_resumed(texts_reply({"k"}))), errc::session_lost);
    EXPECT_EQ(code_of(parse_resumed(texts_reply({"f", "2"}))), errc::newer_format);
    EXPECT_EQ(code_of(parse_resumed(texts_reply({"d", "other"}))), errc::bad_config);
    EXPECT_EQ(code_of(parse_resumed(texts_reply({"u"}))), errc::store_unavailable);
}

TEST(RedisAnswers, ToAResumptionNameTheDomainOfAWholeStore) {
    // Of any other one the domains of slots cannot be made.
    for (const char* bad : {"", "a b", "a-name-of-26-characters-xy", "shop#1"}) {
        EXPECT_EQ(
            code_of(parse_resumed(texts_reply({"o", run_id, bad, "0", "5", "9"}))),
            errc::store_corrupt
        ) << bad;
        EXPECT_FALSE(parse_store_domain(bad)) << bad;
    }
    EXPECT_EQ(parse_store_domain(store_domain.name()), store_domain);
}

TEST(RedisAnswers, TellTheLongestTtlThatTheStoreKnows) {
    EXPECT_EQ(parse_longest_ttl(texts_reply({"5000", "86400000", "300"})), std::chrono::hours(24));
    EXPECT_EQ(parse_longest_ttl(texts_reply({})), std::chrono::milliseconds(0));
    for (const char* none : {"", "-1", "1.5", "5000 1", "x", "4294967296", "99999999999999999999"})
        EXPECT_EQ(parse_longest_ttl(texts_reply({none})), std::chrono::milliseconds(0)) << none;
}

TEST(RedisAnswers, ToAResumptionAreCorruptIfSomethingIsMissingOrBent) {
    const std::vector<std::string> good = {"o", run_id, "shop", "0", "5", "9"};
    ASSERT_TRUE(parse_resumed(texts_reply(good)));
    for (std::size_t size = 1; size < good.size(); ++size) {
        const std::vector<std::string> cut(good.begin(), good.begin() + static_cast<long>(size));
        EXPECT_EQ(code_of(parse_resumed(texts_reply(cut))), errc::store_corrupt) << size;
    }
    for (std::size_t at = 2; at < good.size(); ++at) {
        auto bent = good;
        bent[at] = " ";
        EXPECT_EQ(code_of(parse_resumed(texts_reply(bent))), errc::store_corrupt) << at;
    }
}

TEST(RedisAnswers, ToARequestGrantQueueOrRefuse) {
    const auto granted = parse_answer(text_reply("g 5 65535 1"), store_domain);
    ASSERT_TRUE(granted);
    EXPECT_EQ(granted->type, answer::kind::granted);
    EXPECT_EQ(granted->token.base(), 5u);
    EXPECT_EQ(granted->token.domain, store_domain.of_slot(65'535));
    EXPECT_EQ(granted->slot, 65'535u);
    EXPECT_TRUE(granted->contended);
    const auto queued = parse_answer(text_reply("q 3 0"), store_domain);
    ASSERT_TRUE(queued);
    EXPECT_EQ(queued->type, answer::kind::queued);
    EXPECT_EQ(queued->position, 3u);
    EXPECT_FALSE(queued->contended);
    const auto refused = parse_answer(text_reply("n"), store_domain);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->type, answer::kind::refused);
    EXPECT_EQ(code_of(parse_answer(text_reply("l"), store_domain)), errc::session_lost);
    EXPECT_EQ(code_of(parse_answer(text_reply("c"), store_domain)), errc::capacity_differs);
}

TEST(RedisAnswers, ToRequestsInOrderAreThoseThatWereMade) {
    const auto answers = parse_answers(texts_reply({"g 5 0 0", "c"}), 3, store_domain);
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), 2u);
    EXPECT_EQ((*answers)[0]->token.base(), 5u);
    EXPECT_EQ(code_of((*answers)[1]), errc::capacity_differs);
    EXPECT_EQ(code_of(parse_answers(text_reply("l"), 3, store_domain)), errc::session_lost);
    EXPECT_EQ(code_of(parse_answers(text_reply("g 5 0 0"), 3, store_domain)), errc::store_corrupt);
    EXPECT_EQ(code_of(parse_answers(texts_reply({}), 3, store_domain)), errc::store_corrupt);
    const auto too_many = texts_reply({"g 5 0 0", "g 6 0 0"});
    EXPECT_EQ(code_of(parse_answers(too_many, 1, store_domain)), errc::store_corrupt);
}

TEST(RedisAnswers, ToARequestAreCorruptBeyondTheirLimits) {
    for (const char* bad :
         {"g",
          "g 5",
          "g 5 0",
          "g 5 0 2",
          "g 5 0 0 0",
          "g 0 0 0",
          "g 9007199254740992 0 0",
          "g 5 65536 0",
          "g 5 4294967295 0",
          "g 5 4294967296 0",
          "g x 0 0",
          "q",
          "q 1",
          "q -1 0",
          "q 1 x",
          "q 1 0 0",
          "n 1",
          "x"})
        EXPECT_EQ(code_of(parse_answer(text_reply(bad), store_domain)), errc::store_corrupt) << bad;
}

TEST(RedisAnswers, ToAReleaseSayWhetherItWasHeld) {
    EXPECT_EQ(parse_released(text_reply("y")).value(), true);
    EXPECT_EQ(parse_released(text_reply("n")).value(), false);
    EXPECT_EQ(code_of(parse_released(text_reply("l"))), errc::session_lost);
}

TEST(RedisAnswers, ToAnEndAreGoodIfThereWasNothing) {
    EXPECT_FALSE(parse_ended(text_reply("o")));
    EXPECT_FALSE(parse_ended(text_reply("n")));
    EXPECT_FALSE(parse_done(text_reply("o")));
    EXPECT_EQ(parse_done(text_reply("l")), errc::session_lost);
}

TEST(RedisAnswers, ToADrawGiveARangeOfTokens) {
    const auto range = parse_drawn(text_reply("d 5 2"), store_domain);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->first, (fencing_token{5u << fencing_token::sequence_bits, store_domain}));
    EXPECT_EQ(range->count, 2u << fencing_token::sequence_bits);
    EXPECT_TRUE(parse_drawn(text_reply("d 9007199254740991 1"), store_domain));
    EXPECT_EQ(code_of(parse_drawn(text_reply("l"), store_domain)), errc::session_lost);
    EXPECT_EQ(code_of(parse_drawn(text_reply("n"), store_domain)), errc::lease_lost);
    EXPECT_EQ(code_of(parse_drawn(text_reply("s"), store_domain)), errc::unsupported);
    for (const char* bad :
         {"d",
          "d 5",
          "d 0 1",
          "d 5 0",
          "d 9007199254740991 2",
          "d 9007199254740992 1",
          "d 1 9007199254740992",
          "d 5 1 1",
          "d x 1"})
        EXPECT_EQ(code_of(parse_drawn(text_reply(bad), store_domain)), errc::store_corrupt) << bad;
}

redis_value beat_reply(std::string text) {
    return array_reply(
        {text_reply(std::move(text)),
         texts_reply({"a", "b"}),
         texts_reply({"a:1:door"}),
         array_reply({})}
    );
}

TEST(RedisAnswers, ToAHeartbeatCountAndTellTheNextDeadline) {
    const auto beat = parse_beat(beat_reply("o " + run_id + " 9 2 1 1 1500 77 60"));
    ASSERT_TRUE(beat);
    EXPECT_EQ(beat->value.incarnation, (random_id{1, 2}));
    EXPECT_EQ(beat->value.changes, 9u);
    EXPECT_EQ(beat->value.grants, 2u);
    EXPECT_EQ(beat->value.requests, 1u);
    EXPECT_EQ(beat->value.next_deadline, 1500us);
    EXPECT_TRUE(beat->watches);
    EXPECT_EQ(beat->run, run_id);
    EXPECT_EQ(beat->deadline, 77u);
    EXPECT_EQ(beat->value.quarantine, 60us);
    EXPECT_EQ(beat->dead, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(beat->ended, (std::vector<std::string>{"a:1:door"}));
    EXPECT_TRUE(beat->blocked.empty());
    const auto alone = parse_beat(beat_reply("o - 9 2 1 0 - 78 0"));
    ASSERT_TRUE(alone);
    EXPECT_FALSE(alone->value.incarnation);
    EXPECT_FALSE(alone->value.next_deadline);
    EXPECT_FALSE(alone->watches);
    EXPECT_EQ(code_of(parse_beat(texts_reply({"l"}))), errc::session_lost);
    EXPECT_EQ(code_of(parse_beat(texts_reply({"r"}))), errc::store_replaced);
    for (const char* bad :
         {"o",
          "o r",
          "o r 1 2 3",
          "o r 1 2 3 1",
          "o r 1 2 3 1 -",
          "o r 1 2 3 1 - 7",
          "o r 1 2 3 2 - 7 0",
          "o r x 2 3 1 - 7 0",
          "o r 1 2 3 1 x 7 0",
          "o r 1 2 3 1 -1 7 0",
          "o r 1 2 3 1 - x 0",
          "o r 1 2 3 1 - 7 x",
          "o r 1 2 3 1 - 7 0 1",
          "q r 1 2 3 1 - 7 0"})
        EXPECT_EQ(code_of(parse_beat(beat_reply(bad))), errc::store_corrupt) << bad;
    EXPECT_GE(
        parse_beat(beat_reply("o r 1 2 3 1 18446744073709551615 7 0"))->value.next_deadline, 0us
    );
}

TEST(RedisAnswers, ToAHeartbeatHaveAllTheirParts) {
    auto cut = beat_reply("o - 9 2 1 0 - 78 0");
    cut.items.pop_back();
    EXPECT_EQ(code_of(parse_beat(cut)), errc::store_corrupt);
}

TEST(RedisAnswers, ToASurveyGiveIdsAndLocks) {
    const auto found =
        parse_survey(texts_reply({"o 9", "17", "3", "p4@250 a pool", "4", "x door"}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->changes, 9u);
    EXPECT_EQ(found->cursor, "17");
    ASSERT_EQ(found->entries.size(), 2u);
    EXPECT_EQ(found->entries[0].id, 3u);
    EXPECT_EQ(found->entries[0].lock, "a pool");
    EXPECT_EQ(found->entries[1].lock, "door");
    EXPECT_EQ(code_of(parse_survey(texts_reply({"l"}))), errc::session_lost);
    for (const auto& bad :
         {texts_reply({"o 9"}),
          texts_reply({"o", "0"}),
          texts_reply({"o 9", "0", "3"}),
          texts_reply({"o 9", "0", "x", "x door"}),
          texts_reply({"o 9", "0", "3", "x"}),
          text_reply("o 9")})
        EXPECT_EQ(code_of(parse_survey(bad)), errc::store_corrupt);
}

TEST(RedisAnswers, ToTheStateOfEntriesLeaveOutWhatIsGone) {
    const auto states = parse_states(
        texts_reply(
            {"o 5000000", "1", "g p4 - 3000000 77 2 pool", "0", "", "0", "w x - 4000000 door"}
        ),
        {3, 4, 5},
        *token_domain::parse("shop")
    );
    ASSERT_TRUE(states);
    ASSERT_EQ(states->size(), 2u);
    const auto& held = states->at(0);
    EXPECT_EQ(held.id, 3u);
    EXPECT_TRUE(held.granted && held.contended);
    EXPECT_EQ(held.name, "pool");
    EXPECT_EQ(held.slot, 2u);
    EXPECT_EQ(held.token.base(), 77u);
    EXPECT_EQ(held.token.domain.name(), "shop#2");
    EXPECT_EQ(held.age, 2s);
    const auto& waits = states->at(1);
    EXPECT_EQ(waits.id, 5u);
    EXPECT_FALSE(waits.granted || waits.contended);
    EXPECT_EQ(waits.name, "door");
    EXPECT_FALSE(waits.token);
    EXPECT_EQ(code_of(parse_states(texts_reply({"l"}), {}, store_domain)), errc::session_lost);
    for (const auto& bad :
         {texts_reply({"o 5"}),
          texts_reply({"o", "0", "w x - 4 n"}),
          texts_reply({"o 5", "2", "w x - 4 n"}),
          texts_reply({"o 5", "0", "a x 4 n"}),
          texts_reply({"o 5", "0", "w x - 4 n", "0"}),
          text_reply("o 5")})
        EXPECT_EQ(code_of(parse_states(bad, {3}, store_domain)), errc::store_corrupt);
}

TEST(RedisAnswers, GiveAnAgeWhateverTheClocksSay) {
    const auto age = [](const std::string& now, const std::string& since) {
        const auto states = parse_states(
            texts_reply({"o " + now, "0", "g x - " + since + " 7 0 n"}), {3}, store_domain
        );
        return states ? states->at(0).age : clock::duration(-1);
    };
    EXPECT_EQ(age("5", "3"), 2us);
    EXPECT_EQ(age("3", "5"), 0us) << "the server's clock was set back";
    EXPECT_GT(age("18446744073709551615", "0"), 24h * 365 * 200) << "more than it can hold";
}

TEST(RedisAnswers, TellTheEndOfAQuarantineByTheTokens) {
    EXPECT_EQ(quarantine_end_in("5 70 1"), "70");
    EXPECT_EQ(quarantine_end_in("5"), "");
    EXPECT_EQ(quarantine_end_in(""), "");
}

redis_value party(const std::string& entry, const std::string& id = holder_id) {
    return texts_reply({id, "host", "label", "42", entry, "5200000"});
}

TEST(RedisAnswers, ListLocksWithThoseWhoHoldAndWait) {
    const auto locks = parse_locks(array_reply(
        {text_reply("5000000"),
         text_reply("shop"),
         array_reply(
             {text_reply("pool"),
              number_reply(7),
              array_reply({party("g p4 250 3000000 77 2 pool"), party("w p4 - 4000000 pool")})}
         ),
         array_reply({text_reply("door"), number_reply(0), array_reply({})})}
    ));
    ASSERT_TRUE(locks);
    ASSERT_EQ(locks->size(), 2u);
    EXPECT_EQ(locks->at(0).name, "pool");
    EXPECT_EQ(locks->at(0).waiter_count, 7u);
    ASSERT_EQ(locks->at(0).holders.size(), 1u);
    const auto& holder = locks->at(0).holders[0];
    EXPECT_EQ(holder.session.text(), holder_id);
    EXPECT_EQ(holder.host + holder.label, "hostlabel");
    EXPECT_EQ(holder.pid, 42);
    EXPECT_EQ(holder.mode, lock_mode::permits(4));
    EXPECT_EQ(holder.hold_max, 250ms);
    EXPECT_EQ(holder.token.domain.name(), "shop#2");
    EXPECT_EQ(holder.age, 2s);
    EXPECT_EQ(holder.left, 0s) << "its hold_max is over";
    EXPECT_EQ(locks->at(0).waiters.at(0).left, 200ms);
    ASSERT_EQ(locks->at(0).waiters.size(), 1u);
    EXPECT_FALSE(locks->at(0).waiters[0].token);
    EXPECT_TRUE(locks->at(1).holders.empty());
}

TEST(RedisAnswers, ListNothingWhereThereIsNoStore) {
    const auto none = parse_locks(texts_reply({"5", ""}));
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->empty());
}

TEST(RedisAnswers, ListNoLocksThatAreBent) {
    const auto listed = [](const redis_value& lock, const std::string& domain = "shop") {
        return code_of(parse_locks(array_reply({text_reply("5"), text_reply(domain), lock})));
    };
    const auto with = [](const redis_value& each) {
        return array_reply({text_reply("n"), number_reply(1), array_reply({each})});
    };
    ASSERT_FALSE(listed(with(party("w x - 1 n"))));
    for (const auto& bad :
         {text_reply("n"),
          array_reply({text_reply("n"), number_reply(1)}),
          array_reply({text_reply("n"), number_reply(-1), array_reply({})}),
          with(text_reply("x")),
          with(texts_reply({holder_id, "h", "l", "42"})),
          with(texts_reply({holder_id, "h", "l", "-42", "w x - 1 n"})),
          with(party("w x - 1 n", "short")),
          with(party("w x - 1")),
          with(party("g p9 - 1 5 65536 n"))})
        EXPECT_EQ(listed(bad), errc::store_corrupt);
    EXPECT_EQ(listed(with(party("w x - 1 n")), ""), errc::store_corrupt);
    EXPECT_EQ(
        listed(with(party("g p9 - 1 5 65535 n")), "a-name-of-26-characters-xy"), errc::store_corrupt
    );
}

TEST(RedisAnswers, GiveNamesAsTheyAre) {
    EXPECT_EQ(
        parse_names(texts_reply({"0", "a b", ""})).value(),
        (std::vector<std::string>{"0", "a b", ""})
    );
    EXPECT_TRUE(parse_names(array_reply({})).value().empty());
    EXPECT_EQ(
        code_of(parse_names(array_reply({text_reply("0"), number_reply(1)}))), errc::store_corrupt
    );
    EXPECT_EQ(code_of(parse_names(text_reply("o"))), errc::store_corrupt);
}

TEST(RedisAnswers, SayWhetherAGrantWasBroken) {
    EXPECT_EQ(parse_broken(number_reply(0)).value(), false);
    EXPECT_EQ(parse_broken(number_reply(2)).value(), true);
    EXPECT_EQ(code_of(parse_broken(number_reply(-1))), errc::store_corrupt);
    EXPECT_EQ(code_of(parse_broken(text_reply("1"))), errc::store_corrupt);
}

std::string fields_of(const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& each : parts)
        text += std::to_string(each.size()) + ':' + each;
    return text;
}

TEST(RedisAnswers, GiveTheRecordsOfBrokenLocks) {
    const std::string one =
        fields_of({"1700000000000000", "a:name", "77", "2", "me", "why: 3:x", "1", "h", "42", "l"});
    const std::string other = fields_of({"1", "b", "1", "0", "", "", "0"});
    const auto all = parse_breaks(texts_reply({one, other}), "", store_domain);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 2u);
    const auto& record = all->at(0);
    EXPECT_EQ(record.at.time_since_epoch(), 1'700'000'000s);
    EXPECT_EQ(record.name, "a:name");
    EXPECT_EQ(record.token.base(), 77u);
    EXPECT_EQ(record.token.domain, store_domain.of_slot(2));
    EXPECT_EQ(record.who, "me");
    EXPECT_EQ(record.why, "why: 3:x");
    EXPECT_NE(record.holder.find("42"), std::string::npos);
    EXPECT_EQ(parse_breaks(texts_reply({one, other}), "b", store_domain)->size(), 1u);
    EXPECT_TRUE(parse_breaks(array_reply({}), "", store_domain)->empty());
}

TEST(RedisAnswers, GiveNoRecordThatIsCutOrBent) {
    const std::string good =
        fields_of({"1", "name", "77", "2", "me", "why", "1", "host", "42", "label"});
    const std::size_t whole = fields_of({"1", "name", "77", "2", "me", "why", "1"}).size();
    for (std::size_t size = 0; size < good.size(); ++size) {
        if (size == whole)
            continue;  // Holders may be none.
        const auto cut = parse_breaks(texts_reply({good.substr(0, size)}), "", store_domain);
        EXPECT_EQ(code_of(cut), errc::store_corrupt) << size;
    }
    for (const auto& bad :
         {fields_of({"x", "n", "1", "0", "", "", "0"}),
          fields_of({"1", "n", "9007199254740992", "0", "", "", "0"}),
          fields_of({"1", "n", "1", "65536", "", "", "0"}),
          fields_of({"1", "n", "1", "4294967297", "", "", "0"}),
          std::string("18446744073709551615:1"),
          std::string("99999999999999999999:1"),
          std::string("-1:1")})
        EXPECT_EQ(code_of(parse_breaks(texts_reply({bad}), "", store_domain)), errc::store_corrupt)
            << bad;
}

TEST(RedisAnswers, ThatNoScriptGivesAreCorrupt) {
    for (const auto& each : nonsense()) {
        const auto shown = each.text + '/' + std::to_string(each.items.size());
        EXPECT_EQ(code_of(parse_resumed(each)), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_answer(each, store_domain)), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_released(each)), errc::store_corrupt) << shown;
        EXPECT_EQ(parse_done(each), errc::store_corrupt) << shown;
        EXPECT_EQ(parse_ended(each), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_drawn(each, store_domain)), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_beat(each)), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_survey(each)), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_states(each, {}, store_domain)), errc::store_corrupt) << shown;
        EXPECT_EQ(code_of(parse_locks(each)), errc::store_corrupt) << shown;
        if (each.type != redis_value::kind::number || each.number < 0) {
            EXPECT_EQ(code_of(parse_broken(each)), errc::store_corrupt) << shown;
        }
        if (each.type != redis_value::kind::array || !each.items.empty()) {
            EXPECT_EQ(code_of(parse_breaks(each, "", store_domain)), errc::store_corrupt) << shown;
        }
    }
}

}  // namespace
}  // namespace mortise::store_detail::redis_answers_test
