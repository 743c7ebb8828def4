// Package scenarios proves what the artist mirror must hold, one named test for
// each scenario, on the parts that the box office is made of.
//
//	go test -run 'TestScenario03' ./examples/boxoffice/internal/scenarios
//
//	 #  scenario                                               test                           stands on
//	 1  high 50/s and low 200/s, reads at once                 TestScenario01Normal           virtual time
//	 2  high 200/s and low 300/s: 450/s used, never above 500  TestScenario02Peak             virtual time
//	 3  a thousand concurrent requests, one publish            TestScenario03Herd             memory, Redis, Cluster
//	 4  a worker killed: nothing lost, another continues       TestScenario04Chaos            SQLite, a process
//	 5  a database that takes 10 s: the breaker opens, nothing
//	    is acknowledged, high keeps its target                 TestScenario05SlowDatabase     virtual time
//	 6  unchanged data: last_checked_at alone, no loop         TestScenario06UnchangedData    virtual time
//	 7  high upgrades at once, low is skipped as obsolete      TestScenario07PriorityInversion virtual time
//	 8  a refused low call costs no global token               TestScenario08LowCapExhausted  virtual time, Redis, Cluster
//	 9  a broker that takes 1 s: reads at once                 TestScenario09SlowBroker       virtual time
//	10  Redis down: writes refused, reads served               TestScenario10RedisDown        a Redis of its own
//	11  low alone: never above 350/s sustained                 TestScenario11LowOnly          virtual time
//	12  ten instances, one key: one publish                    TestScenario12TenInstances     memory, Redis, Cluster
//	13  versions over instances: none twice, none back         TestScenario13Versions         memory, Redis, Cluster, FLUSHALL
//	14  a Redis Cluster of three nodes: every script runs      TestScenario14Cluster          Cluster
//	15  concurrent release: exactly one                        TestScenario15ConcurrentRelease memory, Redis, Cluster
//	16  high lag grows: low does not slow high                 TestScenario16HighLagGrows     virtual time
//
// # Virtual time
//
// Scenarios of rates and waits run the mirror, its database (SQLite), bus,
// limiter and workers, and the simulated upstream with its real HTTP server, in
// one bubble of package testing/synctest, connected by pipes. Time passes there
// only when everybody waits for it, so a rate is what the limiter made of it and
// a wait is a wait for something, however loaded the machine is. What a read
// takes in real time is logged.
//
// Scenarios of Redis run on the server or Cluster that the environment names
// (make services); those that hurt it start a redis-server of their own.
package scenarios
