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
