// Package upgradetest migrates an outbox with a backlog with pg_upgrade, and with a dump that is
// restored on another server. It holds only tests.
//
//	operation                                              test
//	pg_upgrade, then millrace outbox adopt: the backlog is
//	published, nothing is lost, repeated or reordered      TestUpgrade
//	a restored dump: adopt refuses, rebase continues       TestUpgrade
//
// pg_upgrade needs the programs of both versions on one machine:
//
//	MILLRACE_PG_OLD   the folder of the old version's programs, e.g. /usr/lib/postgresql/15/bin
//	MILLRACE_PG_NEW   that of the new version's, e.g. /usr/lib/postgresql/18/bin
//	MILLRACE_PG_ROOT  a folder to enter by chroot, in which both are; none by default
//
// `make upgrade` sets them; without the first two the tests are skipped. The servers are the
// tests' own, on free ports of 127.0.0.1, and end with them.
package upgradetest
