// SPDX-License-Identifier: BSL-1.0
// Compares how scripts convert values, and how their errors are reported.
#include "redis_model/twin.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mortise::test {
namespace {

using redis_model::model_redis;

class RedisModelScript : public testing::Test {
protected:
    void agree_on(const std::string& script) {
        user_.agree({"EVAL", script, "2", "k1", "k2", "a1", "17"});
    }

    redis_server server_;
    model_redis model_{[] { return std::int64_t(1'700'000'000'000'000); }};
    twin user_{server_.port(), model_};
};

TEST_F(RedisModelScript, ReturnsValuesAsARealOneDoes) {
    for (const char* const script : {
             "return 1",
             "return 3.99",
             "return -3.99",
             "return 1e15",
             "return 1e300",
             "return -1e300",
             "return 0 / 0",
             "return 'text'",
             "return true",
             "return false",
             "return nil",
             "return",
             "return {}",
             "return {1, 2, nil, 4}",
             "return {1, 'x', {2, {3}}, false, true}",
             "return {a = 1}",
             "return {ok = 'FINE'}",
             "return {err = 'BAD things'}",
             "return {err = 'ALONE'}",
             "return {ok = 5}",
             "return {1, {err = 'IN here'}, {ok = 'YES'}}",
             "return redis.error_reply('My error')",
             "return redis.error_reply('ALONE')",
             "return redis.error_reply('-WITH dash')",
             "return redis.status_reply('STATUS')",
             "return redis.error_reply(1)",
             "return redis.status_reply()",
             "return redis.sha1hex('')",
             "return redis.sha1hex('abc')",
             "return redis.sha1hex(12)",
             "return {KEYS[1], KEYS[2], ARGV[1], ARGV[2], KEYS[3], #KEYS, #ARGV}",
             "return tostring(nil) .. type(redis) .. tostring(1e15) .. tostring(0.1)",
             "return 123456789012345 .. ''",
             "return string.format('%.0f', 1700000000123456)",
             "return math.max(1, 7.9)",
             "return function() end",
             "return {function() end, 1}",
             "local t = {} t[1] = 1 t[2] = 2 t[4] = 4 return t",
             "return table.concat({1, 2.5, 'x'}, ',')",
             "return {string.match('a:b:c', '([^:]*):(.*)')}",
             "return select('#', unpack({1, 2, 3}))",
         })
        agree_on(script);
}

TEST_F(RedisModelScript, SeesRepliesAsARealOneDoes) {
    for (const char* const script : {
             "return type(redis.call('GET', 'none'))",
             "return redis.call('GET', 'none')",
             "return {redis.call('HMGET', 'none', 'a', 'b')}",
             "return redis.call('SET', 'k', 5)",
             "return redis.call('SET', 'k', 5).ok",
             "return redis.call('GET', 'k') + 1",
             "return redis.call('SET', 'k', 0.1)",
             "return redis.call('GET', 'k')",
             "return redis.call('SET', 'k', 1e15)",
             "return redis.call('GET', 'k')",
             "return redis.call('SET', 'k', 1700000000123456)",
             "return redis.call('GET', 'k')",
             "return redis.call('INCRBY', 'n', 3)",
             "return redis.call('INCRBY', 'n', 3.5)",
             "return type(redis.call('INCR', 'n'))",
             "redis.call('ZADD', 'z', 1.5, 'a', 'inf', 'b') return redis.call('ZSCORE', 'z', 'a')",
             "return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')",
             "return type(redis.call('ZSCORE', 'z', 'a'))",
             "return redis.call('TYPE', 'z').ok",
             "return redis.call('PING')",
             "return redis.call('PING').ok",
             "return redis.call('HSET', 'h', 'f', '') + 10",
             "return redis.call('HGETALL', 'h')",
             "return redis.call('EXISTS', 'h') == 1",
             "return #redis.call('TIME')",
             "return redis.pcall('HGET', 'k', 'f')",
             "return redis.pcall('HGET', 'k', 'f').err",
             "return redis.pcall('NONSENSE')",
             "return redis.pcall('GET')",
             "return redis.pcall('GET', {})",
             "return redis.pcall('GET', true)",
             "return redis.pcall()",
             "return redis.pcall('SUBSCRIBE', 'c')",
             "return redis.pcall('EVAL', 'return 1', 0)",
             "return redis.pcall('WAIT', 0, 0)",
             "return type(redis.pcall('INFO', 'server'))",
             "return redis.pcall('ROLE')",
             "return redis.pcall('CONFIG', 'GET', 'save')",
             "return redis.pcall('PUBLISH', 'nobody', 'x')",
             "return redis.pcall('PUBSUB', 'NUMSUB', 'nobody')",
         })
        agree_on(script);
}

TEST_F(RedisModelScript, FailsAsARealOneDoes) {
    user_.execute({"SET", "k", "text"});
    for (const char* const script : {
             "return redis.call('HGET', 'k', 'f')",
             "\n\nreturn redis.call('HGET', 'k', 'f')",
             "return redis.call('NONSENSE')",
             "return redis.call('GET')",
             "return redis.call('GET', {})",
             "return redis.call()",
             "return redis.call('SUBSCRIBE', 'c')",
             "error('thrown')",
             "error({err = 'MINE it is'})",
             "error({err = 'ALONE'})",
             "return nil .. 'x'",
             "return nobody",
             "nobody = 1",
             "return nobody.x",
             "this is no script",
             "return (",
             "local ok, why = pcall(redis.call, 'HGET', 'k', 'f') return {tostring(ok), why}",
             "local ok, why = pcall(error, 'thrown') return {tostring(ok), why}",
             "local ok, why = pcall(error, {code = 1}) return {tostring(ok), type(why)}",
             "local ok, a, b = pcall(function() return 1, 2 end) return {tostring(ok), a, b}",
             "local function f() return redis.call('INCR', 'k') end\nreturn f()",
             "redis.call('SET', 'half', 1) error('after a write')",
             "return redis.call('GET', 'half')",
             "return redis.sha1hex()",
             "return tonumber('x') + 1",
         })
        agree_on(script);
}

TEST_F(RedisModelScript, IsFoundByItsHash) {
    user_.agree({"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"});
    user_.agree({"EVALSHA", "short", "0"});
    user_.agree({"SCRIPT", "LOAD", "return 1"});
    user_.agree({"SCRIPT", "LOAD", "return ("});
    user_.agree({"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"});
    user_.agree({"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"});
    user_.agree({"SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "other"});
    user_.agree({"SCRIPT", "FLUSH"});
    user_.agree({"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"});
    user_.agree({"EVAL", "return 1", "0"});
    user_.agree({"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"});
    user_.agree({"EVAL", "return 1", "x"});
    user_.agree({"EVAL", "return 1", "1"});
    user_.agree({"EVAL", "return 1", "-1"});
    user_.agree({"EVAL", "return 1"});
    user_.agree({"SCRIPT", "KILL"});
}

}  // namespace
}  // namespace mortise::test
