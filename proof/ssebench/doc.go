// Package ssebench measures streams of server-sent events beside their peers: the
// memory of an idle stream, the messages a second that reach 10,000 of them, one at
// a time and in bursts of 30, and the cost of a message for the server.
//
//	bare net/http      a handler with a channel, which writes and flushes
//	tmaxmax/go-sse     its Server with its own provider, Joe
//	r3labs/sse         its Server without replay
//	millrace portable  sse.Hub on memsse, with its cap, its pings and its backlog
//	millrace lean      the same with Config.Lean
//
// Each contender is a process of its own, so that its memory and its processor time
// are those of the server alone, and starts again in each round; its clients are
// another process, which counts events and looks at nothing else. Both share the
// machine's processors: the cost of the clients is in the rates, and is the same
// for all except for the number of reads. An event has 200 bytes on the wire,
// without HTTP's chunks. The next is sent when the last has reached all clients.
//
// The cost of a stream is the growth of the server's resident memory from before the
// first stream, for each, after all of them have got one event: at that moment, and
// idle, after the garbage of opening was collected and given back. A quiet process
// does that by itself within minutes; here it is told to. The clients send the
// headers of a browser's EventSource. The kernel's memory for a connection is in none
// of the figures. All but go-sse and lean streams have a goroutine that writes, whose
// stack has grown to 8 kB; the bare handler's channel of 64 frames takes 1.6 kB.
//
// A single event is one write of the kernel for each stream, with any sender, which
// is about half of its cost; a burst is one write for each stream, or for each
// event.
//
// At last 50,000 streams are held with pings, by as many servers as a process's
// limit of open files requires, each of which has a crowd of its own. They are held
// until each has got its pings; none may end.
package ssebench
