// Package busbench measures how fast each transport publishes and consumes, beside
// Watermill's own package for the same server where there is one: one caller that
// publishes message by message, 64 callers that do so, one caller that publishes
// 500 in a call, and a consumer whose handler does nothing.
//
// Our consumer is a bus.Consumer in a bus.Runner with its defaults: retries, dead
// letters and order per key are on. The peer's is a handler in a Watermill
// Router. Each has topics of its own, which are deleted at the end.
package busbench
