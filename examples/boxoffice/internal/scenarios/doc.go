// Package scenarios proves the requirements on the box office and on all servers that
// it uses, with one named test for each.
//
//	go test -run 'TestScenario03' ./examples/boxoffice/internal/scenarios
//	make prove
//
// Each runs on two columns of servers. Plain tests take the embedded defaults. With
// MILLRACE_PROVE=servers, which make prove sets, a scenario runs on servers: processes of
// the real program, two of each role, on Kafka, PostgreSQL and a Redis Cluster, with the
// simulated upstream as the judge of every rate; MILLRACE_PROVE=embedded takes the
// embedded defaults alone, in full.
//
//	 #  scenario                                               test                           embedded stands on
//	 1  high 50/s and low 200/s, reads at once                 TestScenario01Normal           virtual time
//	 2  high 200/s and low 300/s: 450/s used, never above 500  TestScenario02Peak             virtual time
//	 3  a thousand concurrent requests, one publish            TestScenario03Herd             memory; Redis, Cluster
//	 4  a worker killed: nothing lost, another continues       TestScenario04Chaos            SQLite, a process
//	 5  a database that takes 10 s: the breaker opens, nothing
//	    is acknowledged, high keeps its target                 TestScenario05SlowDatabase     virtual time
//	 6  unchanged data: last_checked_at alone, no loop         TestScenario06UnchangedData    virtual time
//	 7  high upgrades at once, low is skipped as obsolete      TestScenario07PriorityInversion virtual time
//	 8  a refused low call costs no global token               TestScenario08LowCapExhausted  virtual time; Redis, Cluster
//	 9  a broker that takes 1 s: reads at once                 TestScenario09SlowBroker       virtual time
//	10  Redis down: writes refused, reads served               TestScenario10RedisDown        a Redis of its own
//	11  low alone: never above 350/s sustained                 TestScenario11LowOnly          virtual time
//	12  ten instances, one key: one publish                    TestScenario12TenInstances     memory; Redis, Cluster
//	13  versions over instances: none twice, none back         TestScenario13Versions         memory; Redis, Cluster, FLUSHALL
//	14  a Redis Cluster of three nodes: every script runs      TestScenario14Cluster          n/a; Cluster
//	15  concurrent release: exactly one                        TestScenario15ConcurrentRelease memory; Redis, Cluster
//	16  high lag grows: low does not slow high                 TestScenario16HighLagGrows     virtual time
//	17  commits out of order: no event skipped                 TestScenario17OutOfOrderCommits SQLite
//	18  relay, consumer, flusher and admitter killed           TestScenario18Kills            the process, killed
//	19  every message twice, keys mixed: one effect each       TestScenario19Doubled          the program, in this process
//	20  a poison message: a dead letter, order kept, no delay  TestScenario20Poison           the SQLite transport
//	21  a million waiting: join, poll, admit, sweep            TestScenario21Million          memory
//	22  four tabs, cap three: stable                           TestScenario22FourTabs         a process
//	23  a stalled reader: others unaffected                    TestScenario23StalledReader    memory, real connections
//	24  Redis flushed under counters: totals right             TestScenario24RedisFlushed     a process, killed
//	25  a rolling restart under load                           TestScenario25RollingRestart   n/a
//	28  a slow message, a refused dead letter, a deadly one    TestScenario28ThreePoisons     the SQLite transport; every other
//	30  a payment at the last moment, a slow gateway           TestScenario30LastMoment       a process
//	    the round with the median ratio is the one judged      TestRounds
//
// docs/proofs.md says for each scenario which property it proves on servers, and without
// which guard it fails.
//
// # Virtual time
//
// Scenarios of rates and waits run the mirror, its database (SQLite), bus, limiter and
// workers, and the simulated upstream with its real HTTP server, in one bubble of package
// testing/synctest, connected by pipes. Time passes there only when all goroutines wait
// for it, so rates depend on the limiter alone and waits on their reason alone, on a
// machine under any load. The real time of a read is logged.
//
// # Servers
//
// Scenarios of Redis, and 28, run in plain tests too, on the servers that the
// environment names (make services); those that hurt it start redis-servers of
// their own. An office on servers deletes the box office's topics and groups on
// Kafka before it starts, since their names are fixed: on a broker of this machine
// only, and one office after the other.
//
// A result that a busy machine cannot show is logged and not judged: that all of a budget
// is used. That a limit holds is judged always.
//
// # Failure modes
//
// The log of an office that failed is part of the test's output. Processes end with
// the test, and with the test binary when that is killed (Linux).
package scenarios
