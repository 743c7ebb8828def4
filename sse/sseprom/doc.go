// Package sseprom shows what an [sse.Hub] does as Prometheus metrics:
//
//	registry.MustRegister(collector)
//
//	sse_streams                       streams that are open
//	sse_members                       members who have one
//	sse_rooms                         rooms with somebody in
//	sse_leased                        1 while streams can be opened, as far as the cap goes
//	sse_hearing                       1 while events of all processes are heard
//	sse_opened_total                  streams
//	sse_ended_total{reason}           streams
//	sse_victims_total                 streams of any process that gave way to one opened here
//	sse_refused_total{reason}         requests without a stream: outage, evicted
//	sse_events_total{outcome}         events: sent, muted, duplicate, replayed
//	sse_writes_total                  writes to clients
//	sse_written_bytes_total           bytes in them
//	sse_published_total{outcome}      messages to the broker: published, dropped
//	sse_gaps_total                    times that the broker may have lost messages
//	sse_ghosts_total                  entries without a stream that were removed
//	sse_left_over_total               entries that wait for the end of their lifetime
//	sse_store_errors_total            calls of the cap that failed
//
// All series are there from the start, at 0. A scrape asks nobody. Worth an alert
// are sse_leased at 0 for longer than a lease, dropped messages, and many of
// sse_ended_total{reason="slow"} beside few opened.
package sseprom
