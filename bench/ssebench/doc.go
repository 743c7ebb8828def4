// Package ssebench measures streams of server-sent events beside their peers: what
// an idle one costs in memory, how many messages a second reach 10,000 of them, one
// at a time and in bursts of 30, and what a message costs the server.
//
//	bare net/http      a handler with a channel, which writes and flushes
//	tmaxmax/go-sse     its Server with its own provider, Joe
//	r3labs/sse         its Server without replay
//	millrace portable  sse.Hub on memsse, with its cap, its pings and its backlog
//	millrace lean      the same with Config.Lean
//
// Each contender is a process of its own, so that its memory and its processor time
// are those of the server alone, and begins anew in each round; its clients are
// another process, which counts events and looks at nothing else. Both share the
// machine's processors: what clients cost is in the rates, and the same for all but
// for the number of reads. An event has 200 bytes as it is on the wire, but for
// HTTP's chunks. The next is sent when the last has reached everybody.
//
// What a stream costs is by how much the resident memory of the server has grown
// from before the first one, for each, after all of them have got one event: as it
// is then, and idle, which is after the garbage of opening was collected and given
// back. A quiet process does that by itself within minutes; here it is told to. The
// clients send the headers of a browser's EventSource. What the kernel has for a
// connection is in none of the figures. All but go-sse and lean streams have a
// goroutine that writes, whose stack has grown to 8 kB; the bare handler's channel of
// 64 frames takes 1.6 kB.
//
// A single event is one write of the kernel for each stream, whoever sends it, which
// is about half of what it costs; a burst is one write for each stream, or for each
// event.
//
// At last 50,000 streams are held with pings, by as many servers as a process's
// limit of open files makes it, each of which has a crowd of its own. They are held
// until each has got its pings; none may end.
package ssebench
