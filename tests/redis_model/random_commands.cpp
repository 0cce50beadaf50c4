// SPDX-License-Identifier: BSL-1.0
#include "redis_model/random_commands.hpp"

#include <utility>

namespace mortise::test {

std::string random_commands::one_of(std::initializer_list<const char*> texts) {
    return *(texts.begin() + draw_.pick(texts.size()));
}

// Draws a key, mostly of the wanted type.
std::string random_commands::key(const char* usual) {
    const std::string digit = std::to_string(draw_.pick(2));
    return one_in(25) ? one_of({"h", "z", "s", "l", "t"}) + digit : usual + digit;
}

std::string random_commands::score() {
    return one_of(
        {"0",
         "1",
         "2",
         "3",
         "-1",
         "1.5",
         "0.1",
         "1e20",
         "4503599627370497",
         "inf",
         "-inf",
         "1700000000123456",
         "0x10",
         "3.0000000000000004"}
    );
}

std::string random_commands::bound() {
    return one_in(4) ? "(" + score() : one_in(6) ? one_of({"+inf", "-inf"}) : score();
}

std::string random_commands::index() {
    return one_of({"0", "1", "2", "-1", "-2", "5", "-9", "100"});
}

random_commands::words random_commands::hash_command() {
    const std::string at = key("h");
    switch (draw_.pick(12)) {
    case 0:
        return {"HGET", at, member()};
    case 1:
        return {"HMGET", at, member(), member(), member()};
    case 2:
    case 3:
        return {"HSET", at, member(), score(), member(), one_of({"", "7", "x y", "-3"})};
    case 4:
        return {"HDEL", at, member(), member()};
    case 5:
        return {"HLEN", at};
    case 6:
        return {"HEXISTS", at, member()};
    case 7:
        return {"HGETALL", at};
    case 8:
        return {"HINCRBY", at, member(), one_of({"1", "-5", "9223372036854775807", "+1", "1.5"})};
    case 9:
        return {one_of({"HKEYS", "HVALS"}), at};
    case 10:
        return {"HSCAN", at, "0", "COUNT", "3"};
    default:
        return {"HSETNX", at, member(), one_of({"1", "b"})};
    }
}

random_commands::words random_commands::sorted_command() {
    const std::string at = key("z");
    switch (draw_.pick(10)) {
    case 0:
    case 1:
    case 2: {
        words command{"ZADD", at};
        if (one_in(3))
            command.push_back(one_of({"NX", "XX", "GT", "LT", "CH", "INCR", "ch"}));
        if (one_in(5))
            command.push_back(one_of({"NX", "XX", "GT", "LT", "CH"}));
        command.insert(command.end(), {score(), member()});
        if (one_in(2))
            command.insert(command.end(), {one_in(20) ? "nan" : score(), member()});
        return command;
    }
    case 3:
        return {"ZREM", at, member(), member()};
    case 4:
        return {"ZSCORE", at, member()};
    case 5:
        return {one_of({"ZRANK", "ZREVRANK"}), at, member()};
    case 6:
        return {"ZCARD", at};
    case 7:
        return {"ZCOUNT", at, bound(), bound()};
    case 8:
        return one_in(3) ? words{"ZREMRANGEBYSCORE", at, bound(), bound()}
                         : words{"ZMSCORE", at, member(), member()};
    default:
        return {"ZINCRBY", at, one_of({"1", "-1", "0.5", "0", "-inf"}), member()};
    }
}

random_commands::words random_commands::range_command() {
    const std::string at = key("z");
    words command;
    switch (draw_.pick(4)) {
    case 0:
        command = {"ZRANGE", at, index(), index()};
        if (one_in(2))
            command.push_back(one_of({"REV", "rev"}));
        break;
    case 1:
        command = {"ZREVRANGE", at, index(), index()};
        break;
    case 2:
        command = {one_of({"ZRANGEBYSCORE", "ZREVRANGEBYSCORE"}), at, bound(), bound()};
        break;
    default:
        command = {"ZRANGE", at, bound(), bound(), "BYSCORE"};
        if (one_in(2))
            command.push_back("REV");
    }
    if (one_in(3))
        command.push_back("WITHSCORES");
    if (one_in(4))
        command.insert(
            command.end(), {"LIMIT", one_of({"0", "1", "-1"}), one_of({"2", "-1", "0", "3"})}
        );
    return command;
}

// Ordering by bytes requires equal scores.
random_commands::words random_commands::bytes_command() {
    const std::string at = "b" + std::to_string(draw_.pick(2));
    const auto end = [this] {
        return one_in(6) ? one_of({"-", "+", "", "m", "[", "("}) : one_of({"[", "("}) + member();
    };
    switch (draw_.pick(6)) {
    case 0:
    case 1:
        return {"ZADD", at, "0", member()};
    case 2:
        return {"ZREM", at, member()};
    case 3:
        return {"ZRANGE", at, end(), end(), "BYLEX", "LIMIT", "0", "2"};
    case 4:
        return {"ZRANGE", at, end(), end(), "BYLEX", one_of({"REV", "WITHSCORES"})};
    default:
        return {one_of({"ZRANGEBYLEX", "ZREVRANGEBYLEX"}), at, end(), end()};
    }
}

random_commands::words random_commands::set_command() {
    const std::string at = key("s");
    switch (draw_.pick(5)) {
    case 0:
        return {"SADD", at, member(), member()};
    case 1:
        return {"SREM", at, member(), member()};
    case 2:
        return {"SMEMBERS", at};
    case 3:
        return {"SISMEMBER", at, member()};
    default:
        return {"SCARD", at};
    }
}

random_commands::words random_commands::list_command() {
    const std::string at = key("l");
    switch (draw_.pick(5)) {
    case 0:
        return {"LPUSH", at, member(), member()};
    case 1:
        return {"RPUSH", at, member()};
    case 2:
        return {"LTRIM", at, index(), index()};
    case 3:
        return {"LRANGE", at, index(), index()};
    default:
        return {"LLEN", at};
    }
}

random_commands::words random_commands::text_command() {
    const std::string at = key("t");
    switch (draw_.pick(9)) {
    case 0:
        return {"GET", at};
    case 1: {
        words command{"SET", at, one_of({"1", "text", "9223372036854775807", "-0", "007"})};
        if (one_in(2))
            command.push_back(one_of({"NX", "XX", "KEEPTTL", "GET", "nx"}));
        if (one_in(3))
            command.insert(
                command.end(), {one_of({"PX", "EX"}), one_of({"100000", "0", "-1", "x"})}
            );
        return command;
    }
    case 2:
        return {"INCR", at};
    case 3:
        return {"INCRBY", at, one_of({"5", "-7", "9223372036854775807", "01"})};
    case 4: {
        words command{one_of({"PEXPIRE", "EXPIRE"}), at};
        command.push_back(one_of({"100000", "200000", "0", "-5", "9223372036854775807", "z"}));
        if (one_in(3))
            command.push_back(one_of({"NX", "XX", "GT", "LT", "AT"}));
        return command;
    }
    case 5:
        return {"PTTL", at};
    case 6:
        return {"PERSIST", at};
    case 7:
        return {"GETSET", key(one_of({"h", "t"}).c_str()), "2"};
    default:
        return {"SET", at, "1", "PX", "500000"};
    }
}

random_commands::words random_commands::key_command() {
    const std::string at = key(one_of({"h", "z", "s", "l", "t"}).c_str());
    switch (draw_.pick(8)) {
    case 0:
        return {"DEL", at, key("z")};
    case 1:
        return {"EXISTS", at, at, key("t")};
    case 2:
        return {"TYPE", at};
    case 3:
        return {"KEYS", one_of({"*", "h*", "?1", "[hz]0", "[^h]*", "\\h0", "[a-m]?"})};
    case 4:
        return {"DBSIZE"};
    case 5:
        return {"PUBLISH", one_of({"c0", "c1", "c2"}), member()};
    case 6:
        return {"PUBSUB", "NUMSUB", "c0", "c1", "c2"};
    default:
        return one_in(20) ? words{one_of({"FLUSHALL", "FLUSHDB"})} : words{"EXISTS", at};
    }
}

random_commands::words random_commands::wrong_command() {
    switch (draw_.pick(6)) {
    case 0:
        return {"HSET", "h0", "m1"};
    case 1:
        return {"NONSENSE", "a", "b c"};
    case 2:
        return {"HSET", "h0", "m1", "x", "m2"};
    case 3:
        return {"ZADD", "z0", "CH", "1"};
    case 4:
        return {"ZRANGE", "z0", "0", one_of({"x", "1"}), one_of({"NEVER", "LIMIT"})};
    default:
        return {"get", key("t")};
    }
}

std::vector<std::string> random_commands::next() {
    switch (draw_.pick(14)) {
    case 0:
    case 1:
        return hash_command();
    case 2:
    case 3:
    case 4:
        return sorted_command();
    case 5:
    case 6:
        return range_command();
    case 7:
        return bytes_command();
    case 8:
        return set_command();
    case 9:
        return list_command();
    case 10:
    case 11:
        return text_command();
    case 12:
        return key_command();
    default:
        return one_in(3) ? wrong_command() : key_command();
    }
}

}  // namespace mortise::test
