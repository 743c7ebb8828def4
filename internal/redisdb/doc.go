// Package redisdb opens go-redis clients from URLs, for one server, for a master
// behind Sentinels and for a Redis Cluster, with settings under which a call fails
// in time and is never sent a second time behind its caller's back.
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
//	what is wrong with a URL is said, no secret is      TestURLErrors
//	one server, a Cluster, Sentinels and TLS are told
//	apart                                               TestURLs
//	what Sentinels do not tell is an outage, and never
//	the answer that a key is not there                  TestNoMaster, TestMasterAway
//	a silent Sentinel is left for another               TestSilentSentinel
//	a client that waits or repeats is refused, with all
//	wrong settings and the right values in one message  TestCheckClient
//	… by each package with its state in Redis           TestEveryPackageChecksItsClient
//	a context's deadline ends a call                    TestDeadline, TestDeadlineOfSentinel
//	errors have a class                                 TestClassify, TestClassifyNoMaster
//	what the ACL stops is told apart                    TestForbidden
//
// Failure modes: a call that gets no answer within Config.Timeout fails, and
// whether the server has carried it out is unknown. On a Cluster go-redis
// itself follows redirections, and sends a call again when its connection broke.
//
// Behind Sentinels user, password and database are the master's, and rediss:// is
// TLS to both: the master's certificate has to have the address that the Sentinels
// tell. Until they have promoted a replica, calls fail. What the promoted replica did
// not have is lost, and so is what a master accepts that no Sentinel reaches; have
// min-replicas-to-write 1 on the servers.
package redisdb
