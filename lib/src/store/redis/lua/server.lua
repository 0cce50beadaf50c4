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

-- Once the quarantine is over, whoever waits is due.
local function end_quarantine()
    local till = meta().quarantine
    if till == 0 or till > now() then
        return
    end
    call('HDEL', '{P}m', 'q')
    kept = nil
    for _, name in ipairs(call('ZRANGE', '{P}n', 0, -1)) do
        advance(name)
    end
end
