-- SPDX-License-Identifier: BSL-1.0
-- ARGV: key, the value that was seen there. Frees the lock if that is unchanged. Says 1 if it was,
-- else 0.
if value_at(ARGV[1]) ~= ARGV[2] then
    return 0
end
free(ARGV[1])
return 1
