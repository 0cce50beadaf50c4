-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., e:SESSION, l:LOCK, q:LOCK. ARGV: session, generation, owner, request, guess, order
-- key, whether to join the queue, lock. Asks for the vote of the node. Says, followed by the number
-- of messages and the time:
-- * v, how many others wait, and ORDER OWNER REQUEST of the first of them: the request has the vote,
--   for this guess;
-- * l and the counter: the guess is not above the counter;
-- * b and ORDER OWNER REQUEST: another one has the vote;
-- * a and ORDER OWNER REQUEST: another one that waits comes first;
-- * c: the node gives no votes now;
-- or x: the session is gone.
local session, generation, owner, request = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local guess, order, joins, lock = ARGV[5], ARGV[6], ARGV[7] == '1', ARGV[8]
local entries, key, queue = KEYS[6], KEYS[7], KEYS[8]
local place = owner .. ' ' .. request .. ' ' .. session

if not is_present(session, generation) then
    return {'x'}
end

local function reply(kind, text)
    return {kind, text, news_of(session), digits(now())}
end

local function describe(other)
    return digits(tonumber(other.order)) .. ' ' .. other.owner .. ' ' .. other.request
end

local function join()
    if joins then
        call('ZADD', queue, 'NX', order, place)
        call('HSET', entries, request, lock)
    end
end

local function reply_voted()
    local others = call('ZCARD', queue)
    local next_one = others > 0 and first_in(queue)
    return reply('v', digits(others) .. (next_one and ' ' .. describe(next_one) or ''))
end

local vote = vote_at(key)
local is_mine = vote and vote.owner == owner and vote.request == request
if is_mine and vote.base == guess then
    return reply_voted()
end
if vote and not is_mine then
    local is_first = call('ZCARD', queue) == 0
    join()
    if not joins and vote.owner ~= owner then
        tell(vote.session, 't ' .. vote.request)
    elseif joins and (is_first or tonumber(order) <= tonumber(vote.order)) then
        tell(vote.session, 'c ' .. vote.request .. ' ' .. order .. ' ' .. owner .. ' ' .. request)
    end
    return reply('b', describe(vote))
end

-- An earlier ballot of the same request is over: its vote goes over to this one.
local state = call('HMGET', ID, 'until', 'knows')
if not state[1] or tonumber(state[1]) > now() or state[2] ~= '1' then
    join()
    return reply('c', '')
end
local function is_before(first)
    if first.order + 0 ~= order + 0 then
        return first.order + 0 < order + 0
    end
    return first.owner .. ' ' .. first.request .. ' ' .. first.session < place
end
local first = not is_mine and first_in(queue)
if first and (first.owner ~= owner or first.request ~= request) and is_before(first) then
    join()
    return reply('a', describe(first))
end
local counter = counter_of(lock)
if tonumber(guess) <= counter then
    if not is_mine then
        join()
    end
    return reply('l', digits(counter))
end
call('ZADD', COUNTERS, guess, lock)
call('SET', key, place .. ' ' .. guess .. ' ' .. order .. ' ' .. digits(now()))
call('ZREM', queue, place)
call('HSET', entries, request, lock)
return reply_voted()
