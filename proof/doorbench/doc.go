// Package doorbench measures the cost of the front door: emitting and handling through it
// beside the same packages put together by hand, on one PostgreSQL, one after the other in
// each round.
package doorbench
