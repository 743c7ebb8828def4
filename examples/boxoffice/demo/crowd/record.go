package crowd

import (
	"slices"
	"time"
)

// Record has the requests of one fan and their answers. A record is complete once the
// crowd has ended, and read-only.
type Record struct {
	Member       string
	Token        string // sign-in, to ask again as the same member
	Plan         Plan
	End          End
	Err          string // why a fan gave up
	Reservations []*Reservation
	Grasp        *Grasp // its seats when it grasped at more, if it did
	Payments     []*Payment
	Friend       *Friend // the receiver of the fan's ticket, if any
	Community    Community
	Stream       Stream
}

// Community has the actions of a fan's share, and their answers.
type Community struct {
	Like     *Like
	Follows  string // a followed member, if any
	Comment  *Said
	Messages []*Said  // in the order in which it sent them
	Read     []string // the notifications it found in its inbox at the end
}

// Like is a fan's like of a show.
type Like struct {
	Show  string
	Told  bool // its last wish was answered
	Likes bool // its last wish
}

// Said is a comment on a show, or a message in its room. No two have the same text.
type Said struct {
	Place string // the show, or the room
	Text  string
	ID    string // empty when no answer ever came
	Sent  int    // how often it was sent: each time may have made one
	// Deleting means that the fan asked to delete it, and Deleted that this was
	// answered.
	Deleting, Deleted bool
}

// Stream has the events of a fan's live stream.
type Stream struct {
	Opened  int      // how often: it comes back when it breaks
	Notices []string // ids of notifications, each once
	Twice   []string // events that came twice between opening and end
}

func (s *Stream) has(notice string) bool { return slices.Contains(s.Notices, notice) }

// Friend is the receiver of a fan's ticket.
type Friend struct {
	Member, Token string
}

// Reservation is a hold that was answered with 201, or found in the fan's own
// tickets after the answer was lost.
type Reservation struct {
	ID      string
	EventID string
	SeatIDs []string
	Amount  int64
	Expires time.Time
	Asked   time.Time     // when the fan asked for it
	Lasted  time.Duration // from then until a payment was refused because it had ended; 0 when none was
	Status  string        // the last answer
	Bought  time.Time     // when the fan was told that it is confirmed; zero when it was not
}

// Grasp is how many seats of a show a fan had at one moment, by its own tickets.
type Grasp struct {
	EventID      string
	Asked        int // beside those that it held
	Held, Bought int
}

// Payment is a payment that the fan asked for.
type Payment struct {
	Key       string
	ID        string // empty when no answer ever came
	Type      string // reservation, transfer, membership
	Subject   string // the reservation it pays for, if any
	Card      string
	Amount    int64
	Status    string // the last answer
	Confirmed bool   // the fan saw its reservation confirmed, or its transfer or membership paid
	GaveBack  bool   // the fan asked for a refund or gave the ticket away
}

// The states a payment and a reservation can have.
const (
	Processing = "PROCESSING"
	Success    = "SUCCESS"
	Failed     = "FAILED"
	Refunded   = "REFUNDED"

	Held      = "PENDING"
	Confirmed = "CONFIRMED"
	Cancelled = "CANCELLED"

	Active = "ACTIVE" // a membership
)

// End is how a fan's visit ended.
type End string

// The ends of a visit.
const (
	EndConfirmed   End = "confirmed"
	EndDeclined    End = "declined"
	EndCancelled   End = "cancelled"
	EndExpired     End = "hold expired"
	EndRefunded    End = "refunded"
	EndLate        End = "paid too late, refunded"
	EndTransferred End = "transferred"
	EndMember      End = "member"
	EndSoldOut     End = "sold out"
	EndGaveUp      End = "gave up"
	EndStopped     End = "stopped" // the crowd was stopped during the visit
)

// Ends lists every end in the order of reports.
func Ends() []End {
	return []End{
		EndConfirmed, EndTransferred, EndMember, EndDeclined, EndCancelled, EndExpired,
		EndRefunded, EndLate, EndSoldOut, EndGaveUp, EndStopped,
	}
}
