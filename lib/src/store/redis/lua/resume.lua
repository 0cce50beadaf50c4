-- SPDX-License-Identifier: BSL-1.0
-- KEYS: s, e, d, x, w, y, n, u, id. ARGV: the session's full id, GENERATION, TTL, host, label,
-- process, an id for a new store, the domain wanted or nothing, whether a store that is not there has
-- surely never been (0 or 1), the longest TTL of other clients that are not known, whether the keys of
-- format 1 were looked at (0 or 1); the domain of a store that is not there, if none is wanted, or
-- nothing; and in how many slots the store lies.
-- Says o RUN DOMAIN QUARANTINE NOW CHANGES; l; k (another session has this name); f FORMAT (of
-- a newer version); c COUNT (the store lies in so many slots); d DOMAIN (the store has another one); n
-- (a node of Redlock has this prefix); u (nobody hears the inbox); m (the store is not here: look at the
-- keys of format 1 first).
local FORMAT = '2'
local S, full, G, ttl = named_by(KEYS[2]), ARGV[1], ARGV[2], tonumber(ARGV[3])
local longest = math.max(ttl, tonumber(ARGV[10]))
-- Also checks that messages may be published, before anything is written.
local heard = try_publish(S, 'h')
if type(heard) ~= 'number' then
    return heard
elseif heard == 0 then
    return {'u'}
end

-- For how long a holder that a missing store knew may still believe in its lease. A server that
-- never forgot anything never had this store; a new server may have forgotten all but what came
-- since. A node of a cluster may have got the slot just now, without its keys.
local function forgotten()
    if ARGV[9] == '1' then
        return 0
    elseif (info('cluster', 'cluster_enabled') or '1') ~= '0' then
        return longest
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

local record = call('HMGET', KEYS[9], 'f', 'r', 'o', 'c', 'nodes')
if record[5] then
    return {'n'}
elseif not record[1] then
    if ARGV[11] ~= '1' then
        return {'m'}
    end
    local domain = ARGV[8] ~= '' and ARGV[8] or ARGV[12]
    record = {FORMAT, present_run() or '', domain ~= '' and domain or 'redis-' .. sub(ARGV[7], 1, 16)}
    local wait = forgotten()
    call('HSET', KEYS[9], 'f', FORMAT, 'n', ARGV[7], 'r', record[2], 'o', record[3])
    if ARGV[13] ~= '1' then
        call('HSET', KEYS[9], 'c', ARGV[13])
    end
    if wait > 0 then
        set_state('quarantine', now() + wait * 1000)
        save_sessions()  -- Whatever becomes of this session.
    end
elseif record[1] ~= FORMAT then
    return {'f', record[1]}
elseif (record[4] or '1') ~= ARGV[13] then
    return {'c', record[4] or '1'}
elseif ARGV[8] ~= '' and ARGV[8] ~= record[3] then
    return {'d', record[3]}
end

local own = session_of(S)
if own then
    if call('HGET', KEYS[7], S .. ':i') ~= full then
        return {'k'}
    elseif not may_act(own, G) then
        return {'l'}
    end
    call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
elseif G ~= '1' then
    return {'l'}
else
    own = {changes = 0, waits = 0}
    sessions[S] = own
    call('HSET', KEYS[7], S .. ':i', full, S .. ':h', ARGV[4], S .. ':l', ARGV[5], S .. ':p', ARGV[6])
end
own.generation, own.ttl, own.deadline = tonumber(G), ttl, now() + ttl * 1000
touch(S)
call('ZADD', KEYS[3], digits(own.deadline), S)
local run = compare_run(record[2], longest)
claim(longest)
clamp_deadlines(longest)
save_sessions()
return {'o', run, record[3], quarantine_left(), digits(now()), digits(own.changes)}
