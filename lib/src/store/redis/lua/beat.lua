-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION LONGEST, where LONGEST is the longest TTL that others may have, in
-- milliseconds. Proves the session by a write that cannot revive it, and buries dead sessions.
-- Says o RUN CHANGES GRANTS REQUESTS WATCHES NEXT DEADLINE QUARANTINE, where NEXT is the time to
-- the next deadline of others in microseconds, or -; DEADLINE is the session's; QUARANTINE is what
-- is left of it; l; r (the store is no longer what it was).
local S, G, longest = match(ARGV[1], '^(%S+) (%d+) (%d+)$')
local hash = '{P}s:' .. S
local own = call('HMGET', hash, 'g', 'd', 't')
if not may_act(own[1], own[2], G) then
    return 'l'
end
local known_run = call('HGET', '{P}id', 'r')
if not known_run then
    return 'r'
end
longest = math.max(tonumber(longest), tonumber(own[3]))
call('HDEL', hash, '')  -- Allowed without memory; so are all writes after it.
local deadline = digits(now() + own[3] * 1000)
call('HSET', hash, 'd', deadline)
call('ZADD', '{P}d', 'XX', deadline, S)
local run = compare_run(known_run, longest)
claim(longest)
clamp_deadlines(longest)

local more, buried = false, 0
for _, dead in ipairs(call('ZRANGEBYSCORE', '{P}d', '-inf', digits(now()), 'LIMIT', 0, 64)) do
    if buried < AT_ONCE then
        local count, left = bury(dead)
        buried, more = buried + count, more or left
    else
        more = true
    end
end
for _, ended in ipairs(call('ZRANGEBYSCORE', '{P}x', '-inf', digits(now()), 'LIMIT', 0, AT_ONCE)) do
    local session, id = match(ended, '^([^:]+):(%d+)$')
    local text = call('HGET', '{P}s:' .. session, id)
    call('ZREM', '{P}x', ended)
    if text then
        local entry = entry_of(text)
        take_away(session, id, entry)
        grant_next(entry.name)
    end
end
end_quarantine()

local next = more and now() or nil
local function consider(time)
    next = next and math.min(next, time) or time
end

-- Considers the first time in a sorted set that belongs to another session.
local function consider_first(key, pattern)
    local from = 0
    repeat
        local some = call('ZRANGE', key, from, from + 15, 'WITHSCORES')
        for at = 1, #some, 2 do
            if match(some[at], pattern) ~= S then
                return consider(tonumber(some[at + 1]))
            end
        end
        from = from + 16
    until #some < 32
end
consider_first('{P}d', '^(.*)$')
consider_first('{P}x', '^([^:]+)')
if state().quarantine > now() then
    consider(state().quarantine)
end

finish()
local counts = call('HMGET', hash, 'c', 'q')
local entries = call('HLEN', hash) - FIXED
local watches = call('SISMEMBER', '{P}w', S)
return table.concat({'o', run == '' and '-' or run, counts[1], entries - counts[2], counts[2],
                     watches, next and digits(math.max(0, next - now())) or '-', deadline,
                     quarantine_left()}, ' ')
