// Package redisdb opens go-redis clients from URLs, for one server, for a master behind
// Sentinels and for a Redis Cluster, with settings under which a call fails in time and is never
// repeated without its caller's knowledge.
//
//	redis://user:password@host:6379/0
//	rediss://host:6380/0                       the same over TLS
//	redis://h1:7001,h2:7002,h3:7003/           a Cluster, by some of its nodes
//	redis://h1:7001/?cluster=true              a Cluster, by one of its nodes
//	redis://user:password@s1:26379,s2:26379/0?master=NAME
//	                                           the master that Sentinels name
//	… &sentinel_user=u&sentinel_password=p     the same, of Sentinels that ask for it
//
//	property                                            proven by
//	errors name the mistake in a URL, and no secret     TestURLErrors
//	URLs select one server, a Cluster, Sentinels,
//	TLS                                                 TestURLs
//	an unknown master is an outage, and never
//	the answer that a key does not exist                TestNoMaster, TestMasterAway
//	after a silent Sentinel another one is asked        TestSilentSentinel
//	a client that waits or repeats is refused, with all
//	wrong settings and the right values in one message  TestCheckClient
//	… by each package with its state in Redis           TestEveryPackageChecksItsClient
//	a context's deadline ends a call                    TestDeadline, TestDeadlineOfSentinel
//	errors have a class                                 TestClassify, TestClassifyNoMaster
//	errors of the ACL are distinguished                 TestForbidden
//	a script of Once runs once, on a Cluster too        redisratelimit.TestAReturnIsSentOnce
//
// Failure modes: a call without an answer within Config.Timeout fails, and whether the server
// has carried it out is unknown. On a Cluster go-redis itself follows redirections, and sends a
// call again when its connection broke; see [Once].
//
// Behind Sentinels user, password and database are the master's, and rediss:// is TLS to both:
// the master's certificate must have the address that the Sentinels report. Until they have
// promoted a replica, calls fail. Data that the promoted replica did not have is lost, and so
// are writes to a master that no Sentinel reaches; set min-replicas-to-write 1 on the servers.
package redisdb
