-- enqueue: joins equal work in flight, else admits or sheds a task, else writes it.
-- Idempotent by task id: a command that was sent again changes nothing.
-- The image travels in a SET of its own ahead of this script (handing it to Lua costs Redis several times as much);
-- where the task is not written the image is deleted here, and an image without a task expires.
--
-- KEYS 1 stream of the lane     2 task hash      3 image
--      4 work in flight (hash)  5 load account (hash)    6 stored result
-- ARGV 1 task id    2 spec    3 SHA-256    4 work key    5 tenant    6 edge    7 bytes of the image
--      8 milliseconds left until the deadline    9 traceparent    10 format of the entry
--     11 most tasks admitted   12 most bytes admitted
--     13 milliseconds that an image outlives the deadline
--
-- Returns {'admitted', task id, tasks admitted, deadline}
--      or {'joined', task id of the equal work, tasks admitted, deadline}
--      or {'shed', 'count' or 'bytes', tasks admitted}
local id, sha256, work, tenant, edge, bytes, timeLeft = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local tenantCount, tenantBytes = 'count:' .. tenant, 'bytes:' .. tenant
local load = redis.call('HMGET', KEYS[5], 'count', 'bytes', tenantCount, tenantBytes)
local count, total = (load[1] or 0) + 1, (load[2] or 0) + bytes

local marked = redis.call('HSETNX', KEYS[4], work, id) == 1
if not marked then
  -- The marker is the task's own where a lost reply made the client send again.
  local inFlight = redis.call('HGET', KEYS[4], work)
  local key = string.sub(KEYS[2], 1, -#id - 1) .. inFlight
  local task = inFlight ~= id and redis.call('HMGET', key, 'ledger', 'deadline', 'edges', 'waiters') or {}
  if task[1] and string.match(task[1], '^%S+ %S+ (%S+)') == sha256 then
    local time = redis.call('TIME')
    local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + timeLeft
    redis.call('DEL', KEYS[3])
    if deadline > tonumber(task[2]) then
      redis.call('HSET', key, 'deadline', string.format('%.0f', deadline))
      redis.call('PEXPIRE', string.sub(KEYS[3], 1, -#id - 1) .. inFlight, timeLeft + ARGV[13])
    end
    if not string.find(' ' .. task[3] .. ' ', ' ' .. edge .. ' ', 1, true) then
      redis.call('HSET', key, 'edges', task[3] .. ' ' .. edge)
    end
    redis.call('HSET', key, 'waiters', (task[4] or 1) + 1)
    return { 'joined', inFlight, count - 1, deadline }
  end
end

if redis.call('EXISTS', KEYS[2], KEYS[6]) > 0 then
  local deadline = redis.call('HGET', KEYS[2], 'deadline')
  if not deadline then
    -- A result without a task: it ran and left before the command was sent again.
    redis.call('DEL', KEYS[3])
  end
  if marked then redis.call('HDEL', KEYS[4], work) end
  return { 'admitted', id, count - 1, tonumber(deadline or 0) }
end

local limit = count > tonumber(ARGV[11]) and 'count' or total > tonumber(ARGV[12]) and 'bytes'
if limit then
  redis.call('DEL', KEYS[3])
  if marked then redis.call('HDEL', KEYS[4], work) end
  return { 'shed', limit, count - 1 }
end

local entry = redis.call('XADD', KEYS[1], '*',
  'v', ARGV[10], 'id', id, 'timeLeft', timeLeft, 'trace', ARGV[9], 'spec', ARGV[2])
local deadline = string.match(entry, '^%d+') + timeLeft
-- ledger: what the scripts must know of a task when it leaves. Where other bytes of the same MD5 are in flight the
-- marker stays theirs.
redis.call('HSET', KEYS[2], 'deadline', string.format('%.0f', deadline), 'edges', edge, 'ledger',
  entry .. ' ' .. bytes .. ' ' .. sha256 .. ' ' .. (marked and work or '-') .. ' ' .. tenant)
redis.call('HSET', KEYS[5], 'count', count, 'bytes', string.format('%.0f', total),
  tenantCount, (load[3] or 0) + 1, tenantBytes, string.format('%.0f', (load[4] or 0) + bytes))
return { 'admitted', id, count, deadline }
