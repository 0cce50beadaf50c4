-- SPDX-License-Identifier: BSL-1.0
-- A word of the server's own report; nothing if it may not be read.
local function info(section, field)
    local report = redis.pcall('INFO', section)
    return type(report) == 'string' and match(report, field .. ':([^\r\n]*)')
end
