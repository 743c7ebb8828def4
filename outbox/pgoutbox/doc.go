// Package pgoutbox keeps an outbox in PostgreSQL 13 or later.
//
// Transactions do not commit in the order of their ids, so a reader that asks
// for ids above the last one loses events, and one that waits for the oldest
// open transaction stalls behind it and still reorders an aggregate. The relay's
// cursor is a window between two snapshots instead: each event lies in exactly
// one window, and windows and the ids within them are in commit order for every
// key.
//
//	property                                                  proven by
//	everything that package outbox promises                   TestConformance
//	nothing lost, doubled or reordered under many writers,
//	rollbacks and a long transaction, which delays nobody;
//	the naive reader loses events in the same run             TestStress
//	relays of other processes are woken after the commit      TestOtherProcessesAreWoken
//	an idle relay sends at most 2 statements a second         TestIdleRelayAsksRarely
//	native pgx transactions take part                         TestPgxTransaction
//	a dump restored elsewhere is refused until it is rebased  TestRebase
//
// The pool must be pgx's database/sql driver. A relay that listens keeps one of
// its connections; publishing keeps none.
//
// Tables: outbox_messages (append-only; pruned after RelayConfig.Retention),
// outbox_cursors (the relay's place and lease), outbox_retries, outbox_failed,
// outbox_settings (the number of shards). outbox_messages carries event_type,
// aggregate_type and aggregate_id for change-data-capture readers.
package pgoutbox
