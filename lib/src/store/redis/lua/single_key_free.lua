-- SPDX-License-Identifier: BSL-1.0
-- ARGV: pairs of a key and an id. Frees the keys that their ids hold. Says how many.
local freed = 0
for at = 1, #ARGV, 2 do
    if is_of(value_at(ARGV[at]), ARGV[at + 1]) then
        free(ARGV[at])
        freed = freed + 1
    end
end
return freed
