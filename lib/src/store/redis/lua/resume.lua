-- SPDX-License-Identifier: BSL-1.0
-- ARGV: SESSION, its full id, GENERATION, TTL, host, label, process, an id for a new store, the
-- domain wanted or nothing, whether a store that is not there has surely never been (0 or 1), and
-- the longest TTL of other clients that are not known.
-- Says o RUN DOMAIN QUARANTINE NOW CHANGES and the view; l; k (another session has this name); f
-- FORMAT (of a newer version); d DOMAIN (the store has another one); u (nobody hears the inbox).
local FORMAT = '1'
local S, full, G, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local longest = math.max(ttl, tonumber(ARGV[11]))
local hash = '{P}s:' .. S
actor = S
-- Also checks that PUBLISH is allowed, before anything is written.
local heard = call('PUBLISH', '{P}i:' .. S, 'h')
if heard == 0 then
    return {'u'}
end

-- For how long a holder that a missing store knew may still believe in its lease. A server that
-- never forgot anything never had this store; a new server may have forgotten all but what came
-- since.
local function forgotten()
    if ARGV[10] == '1' then
        return 0
    end
    local flushed = info('commandstats', 'cmdstat_flushall') or
        info('commandstats', 'cmdstat_flushdb') or info('commandstats', 'cmdstat_swapdb')
    local evicted = info('stats', 'evicted_keys')
    local before = info('replication', 'master_replid2')
    local up = info('server', 'uptime_in_seconds')
    if flushed or evicted ~= '0' or not up or (before and match(before, '[^0]')) then
        return longest
    end
    -- Uptime counts seconds of the clock that have begun, so that the first may be a short one.
    return math.max(0, math.min(longest, longest - (tonumber(up) - 1) * 1000))
end

local record = call('HMGET', '{P}id', 'f', 'r', 'o')
if not record[1] then
    record = {FORMAT, info('server', 'run_id') or '',
              ARGV[9] ~= '' and ARGV[9] or 'redis-' .. ARGV[8]:sub(1, 16)}
    local wait = forgotten()
    call('HSET', '{P}id', 'f', FORMAT, 'n', ARGV[8], 'r', record[2], 'o', record[3])
    if wait > 0 then
        call('HSET', '{P}m', 'q', digits(now() + wait * 1000))
    end
elseif record[1] ~= FORMAT then
    return {'f', record[1]}
elseif ARGV[9] ~= '' and ARGV[9] ~= record[3] then
    return {'d', record[3]}
end

local own = call('HMGET', hash, 'i', 'g', 'd')
if own[1] and own[1] ~= full then
    return {'k'}
elseif own[1] then
    if not may_act(own[2], own[3], G) then
        return {'l'}
    end
    call('HDEL', hash, '')  -- Allowed without memory; so are all writes after it.
elseif G ~= '1' then
    return {'l'}
else
    call('HSET', hash, 'i', full, 'c', 0, 'q', 0, 'h', ARGV[5], 'l', ARGV[6], 'p', ARGV[7])
end
local deadline = digits(now() + ttl * 1000)
call('HSET', hash, 'g', G, 'd', deadline, 't', ttl)
call('ZADD', '{P}d', deadline, S)
local run = compare_run(record[2], longest)
claim(longest)
clamp_deadlines(longest)
if own[1] then
    -- While this session was unreachable it was passed over: it gets what is free now.
    for _, name in ipairs(waited_for(S)) do
        grant_next(name)
    end
    finish()
end
return view_of(S, {'o', run, record[3], quarantine_left(), digits(now()), call('HGET', hash, 'c')})
