-- SPDX-License-Identifier: BSL-1.0
-- Which server this is, and what a change of it means. KEYS: s, e, d, x, w, y, n, u, id.

-- The longest TTL that a session has claimed, in milliseconds.
local function longest_claim()
    local longest = 0
    for _, each in ipairs(call('ZRANGE', KEYS[8], 0, -1)) do
        longest = math.max(longest, tonumber(each))
    end
    return longest
end

-- Prolongs the claims that a restart brings back: their sessions may have lived on after the data
-- was written. A server with a log has lost the last moments at most: a session that had not ended
-- by then has ended for certain a TTL later.
local function prolong_claims()
    local moments = info('persistence', 'aof_enabled') == '1' and 60000000
    local all = call('ZRANGE', KEYS[8], 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
        local span, till = tonumber(all[at]) * 1000, tonumber(all[at + 1])
        if moments and till + span + moments < now() then
            call('ZREM', KEYS[8], all[at])
        else
            call('ZADD', KEYS[8], digits(now() + span), all[at])
        end
    end
end

-- Another run of the server, or another server, may have forgotten a holder who still believes in
-- its lease: nothing is granted for as long as such a lease can last.
-- @return the present run.
local function compare_run(known, ttl_max)
    local run = present_run() or known
    if run ~= known then
        call('HSET', KEYS[9], 'r', run)
        if known == info('server', 'run_id') then
            return run  -- As an older version wrote it.
        end
        -- The last draws may be forgotten though the grants that they were for are not.
        set_state('base', math.max(now(), state().base))
        prolong_claims()
        set_state('quarantine', now() + math.max(ttl_max, longest_claim()) * 1000)
    end
    return run
end

-- Claims for a session that leases of this length may be believed in until its last deadline.
local function claim(longest)
    call('ZADD', KEYS[8], digits(now() + longest * 1000), digits(longest))
    call('ZREMRANGEBYSCORE', KEYS[8], '-inf', digits(now()))
end

-- Shortens times that are further away than possible: they were written before the clock was set
-- back, and at most as much of them is left as there was in the beginning.
local function clamp_deadlines(own_longest)
    local last = call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
    if tonumber(last[2] or 0) <= now() + own_longest * 1000 and
        state().quarantine <= now() + own_longest * 1000 then
        return
    end
    local limit = now() + math.max(own_longest, longest_claim()) * 1000
    local beyond = call('ZRANGEBYSCORE', KEYS[3], '(' .. digits(limit), '+inf', 'LIMIT', 0, 256)
    for _, name in ipairs(beyond) do
        local of = session_of(name)
        if of then
            of.deadline = limit
            touch(name)
        end
        call('ZADD', KEYS[3], digits(limit), name)
    end
    set_state('quarantine', math.min(state().quarantine, limit))
end

-- For how long nothing is granted yet, in microseconds.
local function quarantine_left()
    return digits(math.max(0, state().quarantine - now()))
end
