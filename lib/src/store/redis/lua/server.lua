-- SPDX-License-Identifier: BSL-1.0
-- Which server this is, and what a change of it means.

-- The longest TTL that a session has claimed, in milliseconds; stores of version 0.1 kept it for
-- ever.
local function longest_claim()
    local longest = tonumber(call('HGET', '{P}id', 't') or 0)
    for _, each in ipairs(call('ZRANGE', '{P}u', 0, -1)) do
        longest = math.max(longest, tonumber(each))
    end
    return longest
end

-- Prolongs the claims that a restart brings back: their sessions may have lived on after the data
-- was written. A server with a log has lost the last moments at most: a session that had not ended
-- by then has ended for certain a TTL later.
local function prolong_claims()
    local moments = info('persistence', 'aof_enabled') == '1' and 60000000
    local all = call('ZRANGE', '{P}u', 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
        local span, till = tonumber(all[at]) * 1000, tonumber(all[at + 1])
        if moments and till + span + moments < now() then
            call('ZREM', '{P}u', all[at])
        else
            call('ZADD', '{P}u', digits(now() + span), all[at])
        end
    end
end

-- Another run of the server, or another server, may have forgotten a holder who still believes in
-- its lease: nothing is granted for as long as such a lease can last.
-- @return the present run.
local function compare_run(known, ttl_max)
    local run = info('server', 'run_id') or known
    if run ~= known then
        call('HSET', '{P}id', 'r', run)
        -- The last draws may be forgotten though the grants that they were for are not.
        call('SET', '{P}t', digits(math.max(now(), tonumber(call('GET', '{P}t') or 0))))
        prolong_claims()
        call('HSET', '{P}m', 'q', digits(now() + math.max(ttl_max, longest_claim()) * 1000))
        kept = nil
    end
    return run
end

-- Claims for a session that leases of this length may be believed in until its last deadline.
local function claim(longest)
    call('ZADD', '{P}u', digits(now() + longest * 1000), digits(longest))
    call('ZREMRANGEBYSCORE', '{P}u', '-inf', digits(now()))
end

-- Shortens times that are further away than possible: they were written before the clock was set
-- back, and at most as much of them is left as there was in the beginning.
local function clamp_deadlines(own_longest)
    local last = call('ZRANGE', '{P}d', -1, -1, 'WITHSCORES')
    if tonumber(last[2] or 0) <= now() + own_longest * 1000 and
        state().quarantine <= now() + own_longest * 1000 then
        return
    end
    local limit = digits(now() + math.max(own_longest, longest_claim()) * 1000)
    for _, session in ipairs(call('ZRANGEBYSCORE', '{P}d', '(' .. limit, '+inf', 'LIMIT', 0, 256)) do
        call('HSET', '{P}s:' .. session, 'd', limit)
        call('ZADD', '{P}d', limit, session)
    end
    if state().quarantine > tonumber(limit) then
        call('HSET', '{P}m', 'q', limit)
        kept = nil
    end
end

-- The locks that a session waits for.
local function waited_for(session)
    local names, hash = {}, '{P}s:' .. session
    if call('HGET', hash, 'q') == '0' then
        return names
    end
    local all = call('HGETALL', hash)
    for at = 1, #all, 2 do
        if match(all[at], '^%d') and all[at + 1]:sub(1, 1) == 'w' then
            names[#names + 1] = entry_of(all[at + 1]).name
        end
    end
    return names
end

-- For how long nothing is granted yet, in microseconds.
local function quarantine_left()
    return digits(math.max(0, state().quarantine - now()))
end

-- Once the quarantine is over, grants what is due to all who wait.
local function end_quarantine()
    local till = state().quarantine
    if till == 0 or till > now() then
        return
    end
    call('HDEL', '{P}m', 'q')
    kept = nil
    for _, session in ipairs(call('ZRANGE', '{P}d', 0, -1)) do
        for _, name in ipairs(waited_for(session)) do
            grant_next(name)
        end
    end
end
