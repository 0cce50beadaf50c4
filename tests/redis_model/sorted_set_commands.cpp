// SPDX-License-Identifier: BSL-1.0
#include "redis_model/command.hpp"
#include "redis_model/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

namespace mortise::redis_model {
namespace {

using place = sorted_set::place;

struct add_options {
    bool only_new = false;
    bool only_old = false;
    bool only_greater = false;
    bool only_less = false;
    bool count_changed = false;
    bool add_up = false;
};

/// @return the index of the first score.
std::size_t read_add_options(const invocation& at, add_options& options) {
    std::size_t i = 2;
    for (; i < at.size(); ++i) {
        if (is_word(at[i], "NX"))
            options.only_new = true;
        else if (is_word(at[i], "XX"))
            options.only_old = true;
        else if (is_word(at[i], "GT"))
            options.only_greater = true;
        else if (is_word(at[i], "LT"))
            options.only_less = true;
        else if (is_word(at[i], "CH"))
            options.count_changed = true;
        else if (is_word(at[i], "INCR"))
            options.add_up = true;
        else
            break;
    }
    const std::size_t words = at.size() - i;
    if (words == 0 || words % 2 != 0)
        throw refusal("ERR syntax error");
    if (options.only_new && options.only_old)
        throw refusal("ERR XX and NX options at the same time are not compatible");
    if ((options.only_greater || options.only_less) &&
        (options.only_new || (options.only_greater && options.only_less)))
        throw refusal("ERR GT, LT, and/or NX options at the same time are not compatible");
    if (options.add_up && words > 2)
        throw refusal("ERR INCR option supports a single increment-element pair");
    return i;
}

struct add_outcome {
    bool added = false;
    bool changed = false;
    std::optional<double> score;  ///< Nothing if the options prevented it.
};

add_outcome
add_one(sorted_set& to, const add_options& options, double score, const std::string& member) {
    add_outcome out;
    const auto old = to.score(member);
    if (old ? options.only_new : options.only_old)
        return out;
    if (old && options.add_up)
        score += *old;
    if (std::isnan(score))
        throw refusal("ERR resulting score is not a number (NaN)");
    if (old && ((options.only_greater && score <= *old) || (options.only_less && score >= *old)))
        return out;
    out.score = score;
    out.added = !old;
    out.changed = old && *old != score;
    if (out.added || out.changed)
        to.put(member, score);
    return out;
}

reply add_all(invocation& at, add_options options) {
    const std::size_t begin = read_add_options(at, options);
    std::vector<double> scores;
    for (std::size_t i = begin; i < at.size(); i += 2)
        scores.push_back(real_of(at[i]));
    if (!at.data.read<sorted_set>(at[1]) && options.only_old)
        return options.add_up ? no_value() : integer(0);
    auto& members = at.data.make<sorted_set>(at[1]);
    std::int64_t added = 0;
    std::int64_t changed = 0;
    add_outcome last;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        last = add_one(members, options, scores[i], at[begin + 2 * i + 1]);
        added += last.added ? 1 : 0;
        changed += last.changed ? 1 : 0;
    }
    if (added + changed != 0)
        at.data.touch(at[1]);
    if (options.add_up)
        return last.score ? bulk(real_text(*last.score)) : no_value();
    return integer(options.count_changed ? added + changed : added);
}

reply zadd(invocation& at) {
    return add_all(at, {});
}

reply zincrby(invocation& at) {
    const double step = real_of(at[2]);
    add_options options;
    options.add_up = true;
    const auto out = add_one(at.data.make<sorted_set>(at[1]), options, step, at[3]);
    if (out.added || out.changed)
        at.data.touch(at[1]);
    return bulk(real_text(*out.score));
}

reply zrem(invocation& at) {
    auto* const found = at.data.change<sorted_set>(at[1]);
    if (!found)
        return integer(0);
    std::int64_t gone = 0;
    for (std::size_t i = 2; i < at.size(); ++i)
        gone += found->remove(at[i]) ? 1 : 0;
    if (gone != 0)
        at.data.touch(at[1]);
    at.data.drop_if_empty<sorted_set>(at[1]);
    return integer(gone);
}

enum class order_by : std::uint8_t { rank, score, bytes };

/// The arguments of a range command.
struct range_query {
    std::optional<order_by> by;
    std::optional<bool> backwards;
    bool with_scores = false;
    std::int64_t offset = 0;
    std::int64_t limit = -1;
};

using filter = std::function<bool(const place&)>;

double score_bound(const char* text) {
    char* stop = nullptr;
    const double value = std::strtod(text, &stop);
    if (*stop != '\0' || std::isnan(value))
        throw refusal("ERR min or max is not a float");
    return value;
}

filter between_scores(const std::string& low, const std::string& high) {
    const bool above = low.starts_with('(');
    const bool below = high.starts_with('(');
    const double first = score_bound(low.c_str() + (above ? 1 : 0));
    const double last = score_bound(high.c_str() + (below ? 1 : 0));
    return [=](const place& each) {
        return (above ? each.first > first : each.first >= first) &&
               (below ? each.first < last : each.first <= last);
    };
}

/// Accepts `[x`, `(x`, `-` and `+`.
void check_bytes_bound(const std::string& text) {
    const bool ends = text == "-" || text == "+";
    if (!ends && !text.starts_with('[') && !text.starts_with('('))
        throw refusal("ERR min or max not valid string range item");
}

filter between_bytes(const std::string& low, const std::string& high) {
    check_bytes_bound(low);
    check_bytes_bound(high);
    return [=](const place& each) {
        const int from = low == "-" ? 1 : low == "+" ? -1 : each.second.compare(low.substr(1));
        const int to = high == "+" ? -1 : high == "-" ? 1 : each.second.compare(high.substr(1));
        return (low[0] == '[' ? from >= 0 : from > 0) && (high[0] == '[' ? to <= 0 : to < 0);
    };
}

reply range_reply(const invocation& at, const std::vector<const place*>& found, bool with_scores) {
    std::vector<reply> items;
    for (const place* const each : found) {
        reply member = bulk(each->second);
        if (!with_scores) {
            items.push_back(std::move(member));
            continue;
        }
        std::vector<reply> pair{std::move(member), bulk(real_text(each->first))};
        // RESP3 has pairs; a script sees RESP2.
        if (at.in_script)
            std::move(pair.begin(), pair.end(), std::back_inserter(items));
        else
            items.push_back(array(std::move(pair)));
    }
    return array(std::move(items));
}

std::vector<const place*> all_places(const sorted_set* in, bool backwards) {
    std::vector<const place*> places;
    if (in) {
        for (const place& each : in->in_order())
            places.push_back(&each);
    }
    if (backwards)
        std::reverse(places.begin(), places.end());
    return places;
}

std::vector<const place*>
filtered(const std::vector<const place*>& places, const filter& wanted, const range_query& query) {
    std::vector<const place*> found;
    if (query.offset < 0)
        return found;
    std::int64_t skipped = 0;
    for (const place* const each : places) {
        if (!wanted(*each))
            continue;
        if (skipped < query.offset) {
            ++skipped;
            continue;
        }
        if (query.limit >= 0 && static_cast<std::int64_t>(found.size()) >= query.limit)
            break;
        found.push_back(each);
    }
    return found;
}

void read_range_options(const invocation& at, range_query& query) {
    for (std::size_t i = 4; i < at.size(); ++i) {
        if (is_word(at[i], "WITHSCORES")) {
            query.with_scores = true;
        } else if (is_word(at[i], "LIMIT") && i + 2 < at.size()) {
            query.offset = integer_of(at[i + 1]);
            query.limit = integer_of(at[i + 2]);
            i += 2;
        } else if (is_word(at[i], "REV") && !query.backwards) {
            query.backwards = true;
        } else if (is_word(at[i], "BYLEX") && !query.by) {
            query.by = order_by::bytes;
        } else if (is_word(at[i], "BYSCORE") && !query.by) {
            query.by = order_by::score;
        } else {
            throw refusal("ERR syntax error");
        }
    }
}

reply range(invocation& at, range_query query) {
    read_range_options(at, query);
    const order_by by = query.by.value_or(order_by::rank);
    const bool backwards = query.backwards.value_or(false);
    if (query.limit != -1 && by == order_by::rank)
        throw refusal("ERR syntax error, LIMIT is only supported in combination with either "
                      "BYSCORE or BYLEX");
    if (query.with_scores && by == order_by::bytes)
        throw refusal("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    if (by == order_by::rank) {
        const std::int64_t first = integer_of(at[2]);
        const std::int64_t last = integer_of(at[3]);
        const auto places = all_places(at.data.read<sorted_set>(at[1]), backwards);
        const auto wanted = clip(first, last, places.size());
        if (!wanted)
            return array();
        const auto begin = places.begin() + static_cast<std::ptrdiff_t>(wanted->first);
        const auto end = places.begin() + static_cast<std::ptrdiff_t>(wanted->last) + 1;
        return range_reply(at, {begin, end}, query.with_scores);
    }
    const std::string& low = at[backwards ? 3 : 2];
    const std::string& high = at[backwards ? 2 : 3];
    const filter wanted =
        by == order_by::score ? between_scores(low, high) : between_bytes(low, high);
    const auto places = all_places(at.data.read<sorted_set>(at[1]), backwards);
    return range_reply(at, filtered(places, wanted, query), query.with_scores);
}

reply zrange(invocation& at) {
    return range(at, {});
}

template <order_by by, bool backwards>
reply old_range(invocation& at) {
    range_query query;
    query.by = by;
    query.backwards = backwards;
    return range(at, query);
}

reply zscore(invocation& at) {
    const auto* const found = at.data.read<sorted_set>(at[1]);
    const auto score = found ? found->score(at[2]) : std::nullopt;
    return score ? bulk(real_text(*score)) : no_value();
}

reply zmscore(invocation& at) {
    const auto* const found = at.data.read<sorted_set>(at[1]);
    std::vector<reply> scores;
    for (std::size_t i = 2; i < at.size(); ++i) {
        const auto score = found ? found->score(at[i]) : std::nullopt;
        scores.push_back(score ? bulk(real_text(*score)) : no_value());
    }
    return array(std::move(scores));
}

reply zcard(invocation& at) {
    const auto* const found = at.data.read<sorted_set>(at[1]);
    return count_of(found ? found->size() : 0);
}

reply zrank(invocation& at) {
    const auto* const found = at.data.read<sorted_set>(at[1]);
    const auto rank = found ? found->rank(at[2]) : std::nullopt;
    return rank ? count_of(*rank) : no_value();
}

reply zrevrank(invocation& at) {
    const auto* const found = at.data.read<sorted_set>(at[1]);
    const auto rank = found ? found->rank(at[2]) : std::nullopt;
    return rank ? count_of(found->size() - 1 - *rank) : no_value();
}

reply zcount(invocation& at) {
    const filter wanted = between_scores(at[2], at[3]);
    const auto places = all_places(at.data.read<sorted_set>(at[1]), false);
    return count_of(filtered(places, wanted, {}).size());
}

reply zremrangebyscore(invocation& at) {
    const filter wanted = between_scores(at[2], at[3]);
    auto* const found = at.data.change<sorted_set>(at[1]);
    std::vector<std::string> names;
    for (const place* const each : filtered(all_places(found, false), wanted, {}))
        names.push_back(each->second);
    for (const auto& each : names)
        found->remove(each);
    if (!names.empty())
        at.data.touch(at[1]);
    at.data.drop_if_empty<sorted_set>(at[1]);
    return count_of(names.size());
}

}  // namespace

void add_sorted_set_commands(command_map& to) {
    to["ZADD"] = {-4, grows(), &zadd};
    to["ZINCRBY"] = {4, grows(), &zincrby};
    to["ZREM"] = {-3, writes(), &zrem};
    to["ZREMRANGEBYSCORE"] = {4, writes(), &zremrangebyscore};
    to["ZRANGE"] = {-4, reads(), &zrange};
    to["ZREVRANGE"] = {-4, reads(), &old_range<order_by::rank, true>};
    to["ZRANGEBYSCORE"] = {-4, reads(), &old_range<order_by::score, false>};
    to["ZREVRANGEBYSCORE"] = {-4, reads(), &old_range<order_by::score, true>};
    to["ZRANGEBYLEX"] = {-4, reads(), &old_range<order_by::bytes, false>};
    to["ZREVRANGEBYLEX"] = {-4, reads(), &old_range<order_by::bytes, true>};
    to["ZSCORE"] = {3, reads(), &zscore};
    to["ZMSCORE"] = {-3, reads(), &zmscore};
    to["ZCARD"] = {2, reads(), &zcard};
    to["ZRANK"] = {3, reads(), &zrank};
    to["ZREVRANK"] = {3, reads(), &zrevrank};
    to["ZCOUNT"] = {4, reads(), &zcount};
}

}  // namespace mortise::redis_model
