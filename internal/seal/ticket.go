package seal

import "time"

// Ticket is a user's place in the line of an event.
type Ticket struct {
	Event string
	User  string
	Epoch uint64
	Order int64
	// Until says which loss of the room's data the ticket outlives: one that came
	// later than that leaves it worthless. It is in ms, and zero in a ticket that
	// was sealed by a release without it, which outlives none.
	Until time.Time
}

// Tickets seals and opens tickets. A ticket is bound to its event and its user,
// names neither of them, and does not expire: the room decides by the epoch and by
// Until whether it is valid. It is 56 characters of base64url. Tickets of 48
// characters, of releases that sealed no Until, still open.
type Tickets struct{ sealer, untimed *sealer }

// NewTickets makes a Tickets with the keys of a ring.
func NewTickets(ring *Ring) *Tickets {
	// Both sizes have one key. Their texts differ in length, and what is signed does
	// as well: the length of an event would have to be above 2^48.
	return &Tickets{sealer: newSealer(ring, "ticket", timedSize), untimed: newSealer(ring, "ticket", plainSize)}
}

// Seal makes the text of a ticket. A zero Until stays zero; others have to be
// between 1970 and the year 10889.
func (t *Tickets) Seal(ticket Ticket) string {
	var room [64]byte
	return string(t.appendSeal(room[:0], ticket))
}

// appendSeal appends the text of a ticket to dst.
func (t *Tickets) appendSeal(dst []byte, ticket Ticket) []byte {
	p := payload{a: ticket.Epoch, b: ticket.Order, timed: true}
	if !ticket.Until.IsZero() {
		p.ms = ticket.Until.UnixMilli()
	}
	return t.sealer.seal(dst, p, ticket.Event, ticket.User)
}

// Open reads a ticket of a user for an event. Errors are [ErrMissing],
// [ErrMalformed] and [ErrSignature], which is also that of a ticket of another
// user or another event.
func (t *Tickets) Open(text, event, user string) (Ticket, error) {
	by := t.sealer
	if len(text) == t.untimed.size() {
		by = t.untimed
	}
	p, err := by.open(text, event, user)
	if err != nil {
		return Ticket{}, err
	}
	ticket := Ticket{Event: event, User: user, Epoch: p.a, Order: p.b}
	if p.ms != 0 {
		ticket.Until = time.UnixMilli(p.ms)
	}
	return ticket, nil
}
