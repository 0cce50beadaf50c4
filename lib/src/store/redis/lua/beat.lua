-- SPDX-License-Identifier: BSL-1.0
-- KEYS: s, e, d, x, w, y, n, u, id. ARGV[1]: GENERATION LONGEST, where LONGEST is the longest TTL that
-- others may have, in milliseconds. Proves the session by a write that cannot revive it, and says who
-- is to be removed: nothing here grows with what sessions hold.
-- Says: o RUN CHANGES GRANTS REQUESTS WATCHES NEXT DEADLINE QUARANTINE, where NEXT is the time to the
-- next deadline of others in microseconds, or -; DEADLINE is the session's; QUARANTINE is what is
-- left of it. Then dead sessions, grants that have ended as SESSION:ID:NAME, and locks that the
-- quarantine has blocked, some of each. Or l; r (the store is no longer what it was).
local AT_ONCE = 64
local S = named_by(KEYS[2])
local G, longest = match(ARGV[1], '^(%d+) (%d+)$')
local own = session_of(S)
if not may_act(own, G) then
    return {'l'}
end
local known_run = call('HGET', KEYS[9], 'r')
if not known_run then
    return {'r'}
end
longest = math.max(tonumber(longest), own.ttl)
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
own.deadline = now() + own.ttl * 1000
touch(S)
call('ZADD', KEYS[3], 'XX', digits(own.deadline), S)
local run = compare_run(known_run, longest)
claim(longest)
clamp_deadlines(longest)

local function due(key)
    return call('ZRANGEBYSCORE', key, '-inf', digits(now()), 'LIMIT', 0, AT_ONCE)
end
local dead, ended, blocked = due(KEYS[3]), due(KEYS[4]), {}
if state().quarantine <= now() then
    set_state('quarantine', 0)
    blocked = call('ZRANGE', KEYS[6], 0, AT_ONCE - 1)
end

local next = nil
local function consider(time)
    next = next and math.min(next, time) or time
end
-- The first time to come that belongs to another session. Of many that are its own, the last one
-- that is looked at counts: it beats too early then.
local function consider_first(key, count)
    local some = call('ZRANGEBYSCORE', key, '(' .. digits(now()), '+inf', 'WITHSCORES', 'LIMIT', 0, count)
    for at = 1, #some, 2 do
        if match(some[at], '^[^:]+') ~= S or at == 2 * count - 1 then
            return consider(tonumber(some[at + 1]))
        end
    end
end
consider_first(KEYS[3], 3)
consider_first(KEYS[4], 16)
if state().quarantine > now() then
    consider(state().quarantine)
end
save_sessions()
local entries = call('HLEN', KEYS[2])
local head = table.concat({
    'o', run == '' and '-' or run, digits(own.changes), digits(math.max(0, entries - own.waits)),
    digits(own.waits), digits(call('SISMEMBER', KEYS[5], S)), next and digits(next - now()) or '-',
    digits(own.deadline), quarantine_left(),
}, ' ')
return {head, dead, ended, blocked}
