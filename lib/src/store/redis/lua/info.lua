-- SPDX-License-Identifier: BSL-1.0
-- Reads a field of the server's own report; nothing if this user may not.
local function info(section, field)
    local report = redis.pcall('INFO', section)
    return type(report) == 'string' and match(report, field .. ':([^\r\n]*)')
end

-- The run of the server, by half of its id. The other half is the name of the data that it followed
-- before it was promoted, or zeros: a server that followed another one meanwhile may have forgotten
-- what it granted before.
local function present_run()
    local run, followed = info('server', 'run_id'), info('replication', 'master_replid2')
    return run and (sub(run, 1, 20) .. sub(followed or run, 1, 20))
end

-- Whether this is another run than the one that is known.
local function is_other_run(known)
    local run = present_run()
    return known and run and run ~= known and known ~= info('server', 'run_id')
end
