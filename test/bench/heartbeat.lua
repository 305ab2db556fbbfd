-- The load of `scripts/bench heartbeat`, for wrk: one heartbeat after the other, round and round over all instances.
-- Its argument is how many there are; heartbeat.py registers them under the same ids.

local requests = {}
local last = 0

function init(args)
  for i = 0, tonumber(args[1]) - 1 do
    local path = string.format("/instances/bench-%05d/heartbeat", i)
    -- Pistache itself promises to keep the connection only to those who ask for it.
    requests[i + 1] = wrk.format("PUT", path, {["Connection"] = "keep-alive"})
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests": %d, "seconds": %f, "failed": %d, "p50": %f, "p99": %f}',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
