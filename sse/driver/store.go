package driver

import (
	"context"
	"strings"
	"time"
)

// Cap keeps which connections of each member are registered, over all instances,
// and which instances are alive. Each call is one atomic step of one member, or of
// each of the members it names, by the store's own clock.
//
// An entry is a connection id with the time at which it connected. Within a member
// those times are distinct and grow in the order of Open. A ghost is an entry
// without a stream: its time is more than Rules.Lifetime ago, or its instance (the
// part of the id before the last dot) is not in Live.Instances and the entry's time
// is before Live.At. Ghosts are never victims and take no place.
//
// Each connection has a token, the opaque id of its tab. The tokens of victims
// are remembered as evicted for Rules.Lifetime, at least the newest 32 of each
// member.
//
// Errors say by package fault's classes whether a retry may help. An error other
// than ErrEvicted leaves open whether the call was carried out.
type Cap interface {
	// Renew keeps the lease of an instance until the given time from now, and
	// returns the instances whose leases have not ended. It also registers a new
	// instance. An instance without a renewal for longer is alive again after it.
	// An instance of 1 to MaxToken bytes and a positive lease are required.
	Renew(ctx context.Context, instance string, lease time.Duration) (Live, error)
	// Resign ends the lease of an instance at once. Its entries are ghosts from
	// the next Renew of the others on.
	Resign(ctx context.Context, instance string) error

	// Open removes the member's ghosts, those of Live.Gone included, registers the
	// connection, and then removes others until Rules.Max are left, so that never
	// more are registered: those of Live.Silent first, and within each group the
	// oldest. The new connection is never removed. Where one would have to go and
	// Rules.NoVictims is set, Open registers nothing and answers Opened.Full.
	//
	// It answers ErrEvicted and changes nothing when the token is remembered as
	// evicted. A connection that is registered already keeps its time, and
	// nothing else happens. An entry of another connection with the same token
	// is the former connection of the same tab: it is removed first, named as
	// Replaced, and its token is not remembered as evicted.
	Open(ctx context.Context, r Rules, live Live, c Conn) (Opened, error)
	// Gone says which of up to MaxConns connections, of any members, are not
	// registered any more.
	Gone(ctx context.Context, conns []Conn) ([]Missing, error)
	// Close removes up to MaxConns connections, of any members. It ignores
	// connections that are not registered.
	Close(ctx context.Context, conns []Conn) error
	// Sweep removes the ghosts of a bounded number of members, from the given
	// cursor on; "" begins. Sweeping from "" until Done sees every member that had
	// an entry all that time. It forgets members without an entry, except evicted
	// tokens that are still remembered.
	Sweep(ctx context.Context, r Rules, live Live, from string) (Swept, error)
}

// Bounds of a call.
const (
	MaxConns  = 500 // connections in a call of Gone or Close
	MaxMember = 256 // bytes of a member's or a room's name, at least one
	MaxToken  = 128 // bytes of an instance, a connection id or a token, at least one
)

// Rules come with each call. All users of a store should bring the same.
type Rules struct {
	Max      int           // registered connections of a member
	Lifetime time.Duration // the longest that a connection lives
	// NoVictims makes Open return the connections in the way, and not remove them.
	NoVictims bool
}

// Conn is a connection. The id is "<instance>.<number>", unique for all time.
type Conn struct {
	Member string
	ID     string
	Token  string
}

// Instance is the part of a connection id that names its instance: the text before
// the last dot; "" when there is none.
func Instance(id string) string {
	return id[:max(0, strings.LastIndexByte(id, '.'))]
}

// Live lists the instances whose leases had not ended at a moment of the store's
// clock. For Open it also has the known states of the member's connections, each by
// its id; ids that are not registered have no effect.
type Live struct {
	At        time.Time
	Instances []string
	Gone      []string // their clients have left: ghosts
	Silent    []string // their instances do not answer: victims before all others
}

// Opened answers Open. Evicted are the victims, in the order of their removal;
// Replaced is the former connection of the same tab. Full are all registered
// connections, oldest first, if the new one is not registered because of
// Rules.NoVictims. Each has member, id and token.
type Opened struct {
	Evicted  []Conn
	Replaced []Conn
	Full     []Conn
	Ghosts   int // entries of which no stream is left, removed
}

// Missing is a connection that is not registered any more. Evicted says that
// its token is remembered as evicted, or is registered with another connection;
// otherwise the entry was taken for a ghost, or the store has lost its data.
type Missing struct {
	Conn
	Evicted bool
}

// Swept answers Sweep. The sweep goes on at Next unless it is Done.
type Swept struct {
	Removed int
	Next    string
	Done    bool
}

// Broker carries messages between the instances, at most once.
type Broker interface {
	// Publish hands a message to every Listen that is up, including that of its own
	// instance. It is no error when none is up.
	Publish(ctx context.Context, m Message) error
	// Listen hears messages until ctx ends, and then returns nil. It reconnects by
	// itself after a failure, and returns an error only where a retry cannot help.
	// It returns after the last call of l has.
	Listen(ctx context.Context, l Listener) error
}

// Listener receives the messages of a broker. All three functions are set, may be
// called from several goroutines, and return soon.
type Listener struct {
	// Hear gets each message. Messages of one publisher to one address (To) come in
	// the order in which they were published. The message is the listener's; its
	// Frame may be kept and never changes.
	Hear func(Message)
	// Up says that everything published from now on is heard: once after the
	// beginning, and after each Down.
	Up func()
	// Down says that messages may have been lost, or will be, until the next Up.
	// It comes only after an Up.
	Down func()
}

// Kind of a message.
type Kind uint8

const (
	// ToMember is a frame for the streams of the member To.
	ToMember Kind = 1 + iota
	// ToRoom is a frame for the streams that joined the room To.
	ToRoom
	// ToAll is a frame for all streams; To is empty.
	ToAll
	// Disconnect says that the connection Arg of the member To was evicted.
	Disconnect
	// Join adds the streams of the member To to the room Arg.
	Join
	// Leave removes the streams of the member To from the room Arg.
	Leave
	// Mute stops the muted events (Config.Muted) for the member To.
	Mute
	// Unmute lets the muted events through again.
	Unmute
	// Ask makes the instances look which of the member's connections still have a
	// client. Arg is the question, and Frame the connection ids, one a line.
	Ask
	// Answer says of the asked connections whether they have a client: To is the
	// question, and each line of Frame is "+" or "-" and a connection id.
	Answer
)

// Message goes from one instance to all. A frame travels encoded: it is the
// same bytes for every connection that gets it.
type Message struct {
	Kind  Kind
	To    string
	Arg   string // of a frame: the sender's trace context and the event's time, "" without
	Event string // name of the event in Frame
	ID    string // its id, "" without
	Frame []byte
}
