// Package wholetest and the folders below it have the tests that need several modules of this tree,
// or a library that should stay out of the module graph of applications: events as the CloudEvents
// SDK reads them, a coalescer whose histories porcupine judges, the waiting room's pages in a
// browser, hostile names, secrets in logs, notices on SQS, Debezium's connectors, a front door
// without its broker, and servers that are killed.
package wholetest
