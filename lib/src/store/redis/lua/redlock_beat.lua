-- SPDX-License-Identifier: BSL-1.0
-- KEYS: .... ARGV: session, generation, TTL in ms. Prolongs a session that lives. Says
-- o START US_OF_QUARANTINE KNOWS NEWS NOW, the time in us until another session is dead (or
-- nothing), and some that are dead; x if the session is gone.
local session, generation, ttl = ARGV[1], ARGV[2], ARGV[3]
local FORGET_AFTER = 60000000
local PORTION = 512

local state = call('HMGET', ID, 'start', 'until', 'knows', 'longest', 'floor')
if not state[1] or not is_present(session, generation) then
    return {'x'}
end
call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
call('ZADD', DEADLINES, digits(now() + ttl * 1000), session)

-- A clock that was set back must not keep the dead, nor the quarantine, for longer than they can
-- last.
local limit = now() + state[4] * 1000
for _, each in ipairs(call('ZRANGEBYSCORE', DEADLINES, '(' .. digits(limit), '+inf', 'LIMIT', 0,
    PORTION)) do
    call('ZADD', DEADLINES, digits(limit), each)
end
if tonumber(state[2]) > limit then
    state[2] = digits(limit)
    call('HSET', ID, 'until', state[2])
end

local old = call('ZRANGEBYSCORE', COUNTERS, '-inf', digits(now() - FORGET_AFTER), 'WITHSCORES',
    'LIMIT', 0, PORTION)
if old[1] then
    local last = tonumber(old[#old])
    call('HSET', ID, 'floor', digits(math.max(last, tonumber(state[5] or 0))))
    call('ZREMRANGEBYSCORE', COUNTERS, '-inf', digits(last))
end

local reply = {'o', state[1], digits(math.max(0, state[2] - now())), state[3], news_of(session),
    digits(now()), ''}
local following = call('ZRANGEBYSCORE', DEADLINES, '(' .. digits(now()), '+inf', 'WITHSCORES',
    'LIMIT', 0, 2)
for at = 1, #following, 2 do
    if following[at] ~= session and reply[7] == '' then
        reply[7] = digits(following[at + 1] - now())
    end
end
for _, each in ipairs(call('ZRANGEBYSCORE', DEADLINES, '-inf', digits(now()), 'LIMIT', 0, 16)) do
    reply[#reply + 1] = each
end
return reply
