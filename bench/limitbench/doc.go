// Package limitbench measures rate limiters on one hot key beside each other: how
// many decisions a second 64 and 512 callers get, what each costs Redis and the
// process, how long a lone caller waits, and what a flood of refusals costs.
//
//	millrace     ratelimit.Limiter on redisratelimit, low priority: both buckets are charged
//	redis_rate   go-redis/redis_rate v10, Allow
//	ulule        ulule/limiter v3 on its Redis store, Get
//	plain        two token buckets in a script of one call a decision (lua/plain.lua)
//
// All have one rate, so high that everything is granted: 900,000 a second, which
// for millrace is multiplied on its way to the store, because combined callers
// reach it. The buckets fill before anything is counted, and the table says which
// share of the decisions came out the other way. Where all is refused, millrace's
// callers ask for a burst that takes a minute to fill, and the peers' for a second
// call of a minute. Each has a client and a key of its own; the peers' clients are
// go-redis' defaults, as their documentation has them, with the pool of Config for
// all.
//
// The herds are a thousand requests for one key at the same moment: a
// coalesce.Coalescer on rediscoalesce beside a SET NX for each request.
//
// Redis is a redis-server of its own on a free port of the loopback interface,
// whose processor time is hence that of the one who is measured; where there is
// no redis-server in PATH, the one of Config.URL.
package limitbench
