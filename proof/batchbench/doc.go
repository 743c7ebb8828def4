// Package batchbench measures a batch consumer beside a sequential one on the
// same work: counting page views in a database, one statement per event with
// eight shows in parallel, or one statement per batch of 100. Both also run with
// the idempotency guard, so that a view that comes twice counts once.
//
// It does so on one SQLite file that is bus and database, synced at every
// commit, as the box office's default is, and on Kafka with PostgreSQL.
package batchbench
