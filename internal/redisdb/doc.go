// Package redisdb opens go-redis clients from URLs, for one server and for a
// Redis Cluster, with settings under which a call fails in time and is never
// sent a second time behind its caller's back.
//
//	redis://user:password@host:6379/0
//	rediss://host:6380/0                       the same over TLS
//	redis://h1:7001,h2:7002,h3:7003/           a Cluster, by some of its nodes
//	redis://h1:7001/?cluster=true              a Cluster, by one of its nodes
//
//	property                                            proven by
//	what is wrong with a URL is said, no secret is      TestURLErrors
//	one server, a Cluster and TLS are told apart        TestURLs
//	a client that waits or repeats is refused, with all
//	wrong settings and the right values in one message  TestCheckClient
//	… by each package with its state in Redis           TestEveryPackageChecksItsClient
//	a context's deadline ends a call                    TestDeadline
//	errors have a class                                 TestClassify
//	what the ACL stops is told apart                    TestForbidden
//
// Failure modes: a call that gets no answer within Config.Timeout fails, and
// whether the server has carried it out is unknown. On a Cluster go-redis
// itself follows redirections, and sends a call again when its connection broke.
package redisdb
