-- SPDX-License-Identifier: BSL-1.0
-- Which server this is, and what its change means.

-- A word of the server's own report; nothing if it may not be read.
local function info(section, field)
    local report = redis.pcall('INFO', section)
    return type(report) == 'string' and match(report, field .. ':([^\r\n]*)')
end

-- Another run of the server, or another server, may have forgotten a holder who still believes in
-- its lease: nothing is granted for as long as such a lease can last.
-- @return the present run.
local function compare_run(known, ttl_max)
    local run = info('server', 'run_id') or known
    if run ~= known then
        call('HSET', '{P}id', 'r', run)
        call('HSET', '{P}m', 'q', digits(now() + ttl_max * 1000))
        kept = nil
    end
    return run
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

-- Once the quarantine is over, whoever waits is due.
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
