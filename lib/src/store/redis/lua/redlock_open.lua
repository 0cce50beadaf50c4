-- SPDX-License-Identifier: BSL-1.0
-- KEYS: ..., n. ARGV: session, generation, TTL in ms, what people want to know of it, number of
-- nodes, longest TTL in ms, whether every change is on disk before it counts, a random start,
-- whether a node without a record never was one. Makes a session known or proves it again. Says
-- o START US_OF_QUARANTINE KNOWS NEWS NOW; x if the session is gone; n COUNT if the store has
-- another number of nodes; f FORMAT if a newer program wrote it; q if there is a store of the queue
-- form; t if the clock of the server is after the year 2112.
local session, generation, ttl, facts, nodes = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local longest, durable, start, is_new = tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9] == '1'

if tonumber(generation) > 1 then
    call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
end
local run = present_run() or '-'
local record = call('HMGET', ID, 'format', 'nodes', 'run', 'longest', 'durable', 'f')
if record[6] then
    return {'q'}
elseif now() >= 2 ^ 52 then
    return {'t'}  -- Later numbers are not exact in what counts them.
end
longest = math.max(longest, tonumber(ttl), tonumber(record[4] or 0))

-- Begins anew, because votes may be forgotten, and counters.
local function begin_again(knows)
    for _, each in ipairs(call('ZRANGE', DEADLINES, 0, -1)) do
        call('ZADD', DEADLINES, digits(now()), each)
    end
    call('HSET', ID, 'start', start, 'knows', knows and '1' or '0',
        'until', digits(knows and 0 or now() + longest * 1000))
end

if not record[1] then
    call('HSET', ID, 'format', '1', 'nodes', nodes, 'floor', digits(is_new and now() or 0))
    begin_again(is_new)
elseif record[1] ~= '1' then
    return {'f', record[1]}
elseif record[2] ~= nodes then
    return {'n', record[2]}
elseif record[3] ~= run and not (record[5] == '1' and durable == '1') then
    begin_again(false)
end
call('HSET', ID, 'run', run, 'longest', digits(longest), 'durable', durable)

local known = call('HGET', SESSIONS, session)
if tonumber(generation) > 1 and
    not (known and tonumber(known) < tonumber(generation) and is_alive(session)) then
    return {'x'}
end
call('HSET', SESSIONS, session, generation)
call('HSET', KEYS[6], session, facts)
call('ZADD', DEADLINES, digits(now() + ttl * 1000), session)
if not known then
    call('HSET', NEWS, session, '0')
end
local state = call('HMGET', ID, 'start', 'until', 'knows')
return {'o', state[1], digits(math.max(0, state[2] - now())), state[3], news_of(session),
    digits(now())}
