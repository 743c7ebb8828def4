package seal_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/internal/seal"
)

func TestTicketIsThatOfItsUserAndEvent(t *testing.T) {
	tickets := seal.NewTickets(ring(t, newSecret))
	rapid.Check(t, func(t *rapid.T) {
		want := seal.Ticket{
			Event: rapid.String().Draw(t, "event"), User: rapid.String().Draw(t, "user"),
			Epoch: rapid.Uint64().Draw(t, "epoch"), Order: rapid.Int64().Draw(t, "order"),
			Until: time.UnixMilli(rapid.Int64Range(1, 1<<48-1).Draw(t, "until")),
		}
		text := tickets.Seal(want)
		got, err := tickets.Open(text, want.Event, want.User)
		if err != nil || got != want {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
		event, user := rapid.String().Draw(t, "other event"), rapid.String().Draw(t, "other user")
		if event == want.Event && user == want.User {
			return
		}
		if _, err := tickets.Open(text, event, user); !errors.Is(err, seal.ErrSignature) {
			t.Fatalf("the ticket of %q, %q opened for %q, %q: %v", want.Event, want.User, event, user, err)
		}
	})
}

// Names that read the same when they are concatenated are kept apart.
func TestTicketNamesDoNotRunTogether(t *testing.T) {
	tickets := seal.NewTickets(ring(t, newSecret))
	text := tickets.Seal(seal.Ticket{Event: "show", User: "1alice"})
	for _, other := range [][2]string{{"show1", "alice"}, {"", "show1alice"}, {"show1alice", ""}, {"sho", "w1alice"}} {
		if _, err := tickets.Open(text, other[0], other[1]); !errors.Is(err, seal.ErrSignature) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

// everyBit opens texts that differ from a sealed one in one bit.
func everyBit(t *testing.T, text string, open func(string) error) {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	for i := range raw {
		for bit := range 8 {
			raw[i] ^= 1 << bit
			assert.ErrorIsf(t, open(base64.RawURLEncoding.EncodeToString(raw)), seal.ErrSignature, "bit %d of byte %d changed", bit, i)
			raw[i] ^= 1 << bit
		}
	}
}

func TestTamperedRequest(t *testing.T) {
	requests := seal.NewRequests(ring(t, newSecret, oldSecret))
	text := requests.Seal(seal.Request{Event: "e", Position: 7, Epoch: 9, Issued: time.Now()})
	everyBit(t, text, func(text string) error { _, err := requests.Open(text, "e", ""); return err })
}

func TestTamperedTicket(t *testing.T) {
	tickets := seal.NewTickets(ring(t, newSecret, oldSecret))
	text := tickets.Seal(seal.Ticket{Event: "e", User: "u", Epoch: 7, Order: 9, Until: time.UnixMilli(11)})
	require.Equalf(t, 56, len(text), "a ticket has %d characters", len(text))
	everyBit(t, text, func(text string) error { _, err := tickets.Open(text, "e", "u"); return err })
	everyBit(t, untimedTicket, func(text string) error { _, err := tickets.Open(text, "e", "u"); return err })
	for name, text := range map[string]string{
		"short": text[:55], "long": text + "A", "line feed within": text[:20] + "\n" + text[21:], "padding": text[:55] + "=",
		"not base64url": strings.Replace(text, text[3:4], "+", 1), "a million bytes": strings.Repeat("A", 1<<20),
	} {
		if _, err := tickets.Open(text, "e", "u"); !errors.Is(err, seal.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tickets.Open("", "e", "u"); !errors.Is(err, seal.ErrMissing) {
		t.Errorf("none: %v", err)
	}
}

// untimedTicket is one of epoch 7 and order 9 for "u" at "e", by newSecret, as
// releases without Ticket.Until sealed it.
const untimedTicket = "oAT7oAAAAAAAAAAHAAAAAAAAAAnqRtLjv_Uq4tKKut713e4M"

// A ticket of a release that sealed no Until still opens, and outlives no loss.
func TestTicketsWithoutUntilOpen(t *testing.T) {
	tickets := seal.NewTickets(ring(t, newSecret))
	want := seal.Ticket{Event: "e", User: "u", Epoch: 7, Order: 9}
	got, err := tickets.Open(untimedTicket, "e", "u")
	if err != nil || got != want {
		t.Errorf("it opened as %+v, %v", got, err)
	}
	if _, err := tickets.Open(untimedTicket, "e", "v"); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("for another user: %v", err)
	}
	again, err := tickets.Open(tickets.Seal(want), "e", "u")
	if err != nil || again != want {
		t.Errorf("sealed without Until it opened as %+v, %v", again, err)
	}
}

func TestRequestRoundTrip(t *testing.T) {
	requests := seal.NewRequests(ring(t, newSecret))
	rapid.Check(t, func(t *rapid.T) {
		want := seal.Request{
			Event: rapid.String().Draw(t, "event"), Position: rapid.Int64().Draw(t, "position"), Epoch: rapid.Uint64().Draw(t, "epoch"),
			Issued: time.UnixMilli(rapid.Int64Range(0, 1<<48-1).Draw(t, "issued")), Member: rapid.String().Draw(t, "member"),
		}
		text := requests.Seal(want)
		require.Equalf(t, 56, len(text), "a request id has %d characters", len(text))
		got, err := requests.Open(text, want.Event, want.Member)
		if err != nil || got != want {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
		if _, err := requests.Open(text, want.Event+"2", want.Member); !errors.Is(err, seal.ErrSignature) {
			t.Fatalf("another event: %v", err)
		}
	})
}

// A member's request id is for that member; one without a member is for all.
func TestRequestIsItsMembers(t *testing.T) {
	requests := seal.NewRequests(ring(t, newSecret))
	request := seal.Request{Event: "e", Position: 3, Epoch: 1, Issued: time.UnixMilli(5), Member: "ann"}
	ann := requests.Seal(request)
	for _, other := range []string{"", "bob", "ann "} {
		if got, err := requests.Open(ann, "e", other); !errors.Is(err, seal.ErrSignature) {
			t.Errorf("ann's, brought by %q: %+v, %v", other, got, err)
		}
	}
	request.Member = ""
	all := requests.Seal(request)
	for _, member := range []string{"", "bob"} {
		if got, err := requests.Open(all, "e", member); err != nil || got != request {
			t.Errorf("without a member, brought by %q: %+v, %v", member, got, err)
		}
	}
}

// The keys of two purposes differ, also when everything else is the same.
func TestSealedTextsAreNotInterchangeable(t *testing.T) {
	r := ring(t, newSecret)
	ticket := seal.NewTickets(r).Seal(seal.Ticket{Event: "e", Epoch: 1, Order: 2})
	request := seal.NewRequests(r).Seal(seal.Request{Event: "e", Epoch: 1, Position: 2})
	if ticket[:6] == request[:6] {
		t.Error("two purposes have one key id")
	}
	if _, err := seal.NewRequests(r).Open(ticket, "e", ""); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("a ticket as a request id: %v", err)
	}
	if _, err := seal.NewTickets(r).Open(request, "e", ""); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("a request id as a ticket: %v", err)
	}
}

func TestTicketsOfManyGoroutines(t *testing.T) {
	tickets := seal.NewTickets(ring(t, newSecret, oldSecret))
	old := seal.NewTickets(ring(t, oldSecret))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			by := tickets
			if g%2 == 0 {
				by = old
			}
			user := strings.Repeat("u", g+1)
			for i := range int64(500) {
				want := seal.Ticket{Event: "e", User: user, Epoch: uint64(g), Order: i, Until: time.UnixMilli(i + 1)}
				got, err := tickets.Open(by.Seal(want), "e", user)
				if err != nil || got != want {
					t.Errorf("goroutine %d: %+v came back as %+v, %v", g, want, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzTicketOpen(f *testing.F) {
	tickets := seal.NewTickets(ring(f, newSecret, oldSecret))
	f.Add(tickets.Seal(seal.Ticket{Event: "e", User: "u", Epoch: 1, Order: 2, Until: time.UnixMilli(3)}), "e", "u")
	f.Add(untimedTicket, "e", "u")
	f.Add(strings.Repeat("A", 56), "e", "u")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, text, event, user string) {
		ticket, err := tickets.Open(text, event, user)
		if err != nil {
			if seal.Reason(err) == "" || ticket != (seal.Ticket{}) {
				t.Fatalf("%+v, %v", ticket, err)
			}
			return
		}
		if again := tickets.Seal(ticket); again != text && text != untimedTicket {
			t.Fatalf("%q opened, and is %q", text, again)
		}
	})
}

func FuzzRequestOpen(f *testing.F) {
	requests := seal.NewRequests(ring(f, newSecret))
	f.Add(requests.Seal(seal.Request{Event: "e", Position: 3, Epoch: 1, Issued: time.UnixMilli(5)}), "e")
	f.Add(strings.Repeat("_", 56), "")
	f.Fuzz(func(t *testing.T, text, event string) {
		request, err := requests.Open(text, event, "")
		if err != nil {
			if seal.Reason(err) == "" || request != (seal.Request{}) {
				t.Fatalf("%+v, %v", request, err)
			}
			return
		}
		if again := requests.Seal(request); again != text {
			t.Fatalf("%q opened, and is %q", text, again)
		}
	})
}

func BenchmarkTicketOpen(b *testing.B) {
	tickets := seal.NewTickets(ring(b, newSecret))
	text := tickets.Seal(seal.Ticket{Event: "show-1", User: "member-123456", Epoch: 1, Order: 2})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tickets.Open(text, "show-1", "member-123456"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTicketSeal(b *testing.B) {
	tickets := seal.NewTickets(ring(b, newSecret))
	b.ReportAllocs()
	for b.Loop() {
		tickets.Seal(seal.Ticket{Event: "show-1", User: "member-123456", Epoch: 1, Order: 2})
	}
}
