-- SPDX-License-Identifier: BSL-1.0
-- Reads a field of the server's own report; nothing if this user may not.
local function info(section, field)
    local report = redis.pcall('INFO', section)
    return type(report) == 'string' and match(report, field .. ':([^\r\n]*)')
end
