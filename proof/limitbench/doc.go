// Package limitbench compares rate limiters on one hot key: the decisions a second
// for 64 and 512 callers, their costs for Redis and the process, the wait of a lone
// caller, and the cost of a flood of refusals.
//
//	millrace     ratelimit.Limiter on redisratelimit, low priority: both buckets are charged
//	redis_rate   go-redis/redis_rate v10, Allow
//	ulule        ulule/limiter v3 on its Redis store, Get
//	plain        two token buckets in a script of one call a decision (lua/plain.lua)
//
// All have one rate, so high that all calls are granted: 900,000 a second, which
// for millrace is multiplied on its way to the store, because combined callers
// reach it. The buckets fill before anything is counted, and the table shows the
// share of the decisions that came out the other way. Where all calls are refused,
// millrace's callers ask for a burst that takes a minute to fill, and the peers'
// for a second call of a minute. Each has a client and a key of its own; the peers'
// clients have go-redis' defaults, as in their documentation, with the pool of
// Config for all.
//
// The herds are a thousand requests for one key at the same moment: a
// coalesce.Coalescer on rediscoalesce beside a SET NX for each request.
//
// Redis is a redis-server of its own on a free port of the loopback interface,
// whose processor time is hence that of the measured limiter; where there is no
// redis-server in PATH, the one of Config.URL.
package limitbench
