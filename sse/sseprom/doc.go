// Package sseprom exports the metrics of an [sse.Hub] to Prometheus:
//
//	registry.MustRegister(collector)
//
//	millrace_sse_streams                    streams that are open
//	millrace_sse_members                    members with a stream
//	millrace_sse_rooms                      rooms with a stream
//	millrace_sse_leased                     1 while the cap lets streams open
//	millrace_sse_hearing                    1 while the broker delivers events of all processes
//	millrace_sse_opened_total               streams
//	millrace_sse_ended_total{reason}        streams
//	millrace_sse_victims_total              streams of any process evicted for one opened here
//	millrace_sse_refused_total{reason}      requests without a stream: outage, evicted
//	millrace_sse_events_total{outcome}      events: sent, muted, duplicate, replayed
//	millrace_sse_writes_total               writes to clients
//	millrace_sse_written_bytes_total        bytes in them
//	millrace_sse_published_total{outcome}   messages to the broker: published, dropped
//	millrace_sse_gaps_total                 times that the broker may have lost messages
//	millrace_sse_ghosts_total               entries without a stream that were removed
//	millrace_sse_left_over_total            entries that wait for the end of their lifetime
//	millrace_sse_store_errors_total         calls of the cap that failed
//
// All series exist from the start, at 0. A scrape makes no calls. Set alerts on
// millrace_sse_leased at 0 for longer than a lease, on dropped messages, and on many
// of millrace_sse_ended_total{reason="slow"} beside few opened.
package sseprom
