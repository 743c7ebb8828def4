package frontgate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/memqueue"
)

// A real room behind the gate keeps the order of arrival: the visitors in line, the
// positions in their order although they come in another, and later visitors.
func TestRoom(t *testing.T) {
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	room, err := queue.New(store, ring(t, secret), queue.Config{})
	require.NoError(t, err)
	ctx := t.Context()
	if _, err := room.SetThreshold(ctx, event, 0); err != nil {
		t.Fatal(err)
	}
	g := newGate(t, memory(t), frontgate.Config{Line: room})
	come := func(user, text string, want queue.Status) {
		t.Helper()
		position := int64(0)
		if text != "" {
			if position, err = g.Position(ctx, event, text, ""); err != nil {
				t.Fatalf("%s: %v", user, err)
			}
		}
		place, err := room.Check(ctx, event, queue.Visitor{User: user, Position: position})
		if err != nil || place.Status != want {
			t.Fatalf("%s with the position %d: %+v, %v, want %s", user, position, place, err, want)
		}
	}
	come("before 1", "", queue.Waiting)
	come("before 2", "", queue.Waiting)
	activate(t, g)
	come("without a position", "", queue.Gated)
	var places []frontgate.Place
	for range 5 {
		places = append(places, assign(t, g))
	}
	if _, err := g.Advance(ctx, event, 2); err != nil {
		t.Fatal(err)
	}
	come("position 2", check(t, g, places[1].RequestID).Token, queue.Waiting)
	come("position 1", check(t, g, places[0].RequestID).Token, queue.Waiting)
	if _, err := g.Deactivate(ctx, event); err != nil {
		t.Fatal(err)
	}
	come("after 1", "", queue.Waiting)
	come("position 5", check(t, g, places[4].RequestID).Token, queue.Waiting)
	come("position 3", check(t, g, places[2].RequestID).Token, queue.Waiting)
	// A position counts once.
	come("a friend of position 3", check(t, g, places[2].RequestID).Token, queue.Waiting)
	come("after 2", "", queue.Waiting)

	want := []string{"before 1", "before 2", "position 1", "position 2", "position 3", "position 5", "after 1", "a friend of position 3", "after 2"}
	got := make([]string, len(want))
	for _, user := range want {
		place, err := room.Status(ctx, event, queue.Visitor{User: user})
		if err != nil || place.Position < 1 || place.Position > len(got) {
			t.Fatalf("%s: %+v, %v", user, place, err)
		}
		got[place.Position-1] = user
	}
	if !slices.Equal(got, want) {
		t.Errorf("the line is %q\nwant        %q", got, want)
	}
}

// Sixty visitors come by the token of position 1, before the holders of the next: the
// line has them behind all positions given out, and no other visitor moves.
func TestASharedPositionMovesNobody(t *testing.T) {
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	room, err := queue.New(store, ring(t, secret), queue.Config{})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = room.SetThreshold(ctx, event, 0)
	require.NoError(t, err)
	g := newGate(t, memory(t), frontgate.Config{Line: room})
	h, err := frontgate.NewHandlers(g, frontgate.HTTPConfig{})
	require.NoError(t, err)
	activate(t, g)
	var tokens []string
	for range 41 {
		tokens = append(tokens, assign(t, g).RequestID)
	}
	_, err = g.Advance(ctx, event, 41)
	require.NoError(t, err)
	for i, id := range tokens {
		tokens[i] = check(t, g, id).Token
	}
	request := func(text string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set(frontgate.TokenHeader, text)
		return r
	}
	come := func(user, text string) {
		t.Helper()
		position, err := h.Position(request(text), event)
		for range 2 {
			require.NoError(t, err)
			place, err := room.Check(ctx, event, queue.Visitor{User: user, Position: position})
			switch {
			case err != nil:
				t.Fatal(err)
			case place.Status == queue.Waiting:
				return
			}
			position, err = h.NewPosition(request(text), event)
			if err != nil || position <= 41 {
				t.Fatalf("%s is given position %d, %v", user, position, err)
			}
		}
		t.Fatalf("%s is refused twice", user)
	}
	want := []string{"user 1"}
	come("user 1", tokens[0])
	for i := range 60 {
		come(fmt.Sprint("sharer ", i), tokens[0])
	}
	for i := 2; i <= 41; i++ {
		come(fmt.Sprint("user ", i), tokens[i-1])
		want = append(want, fmt.Sprint("user ", i))
	}
	for i := range 60 {
		want = append(want, fmt.Sprint("sharer ", i))
	}
	for i, user := range want {
		if place, err := room.Status(ctx, event, queue.Visitor{User: user}); err != nil || place.Position != i+1 {
			t.Errorf("%s is at %d, %v, want %d", user, place.Position, err, i+1)
		}
	}
	if position, err := h.NewPosition(request("forged"), event); position != 0 || err != nil {
		t.Errorf("without a valid token: %d, %v", position, err)
	}
	_, err = g.Deactivate(ctx, event)
	require.NoError(t, err)
	if position, err := h.NewPosition(request(tokens[0]), event); position != 0 || err != nil {
		t.Errorf("of a gate that is off: %d, %v", position, err)
	}
}

// memorySettings keeps the settings of one room.
type memorySettings struct{ queue.Setting }

func (m *memorySettings) Load(context.Context, string) (queue.Setting, error) { return m.Setting, nil }

func (m *memorySettings) Save(_ context.Context, _ string, s queue.Setting) error {
	m.Setting = s
	return nil
}

// TestARoomWithAnOpening: the gate stays off, in the store as well, until the opening is
// taken back.
func TestARoomWithAnOpening(t *testing.T) {
	store, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	room, err := queue.New(store, ring(t, secret), queue.Config{Settings: new(memorySettings)})
	require.NoError(t, err)
	_, err = room.OpenAt(t.Context(), event, time.Now().Add(time.Hour), "")
	require.NoError(t, err)
	g := newGate(t, memory(t), frontgate.Config{Line: room})
	_, err = g.Activate(t.Context(), event)
	require.ErrorIs(t, err, driver.ErrInvalid)
	require.ErrorContains(t, err, "take the opening back first")
	state, err := g.Status(t.Context(), event)
	require.NoError(t, err)
	require.False(t, state.On)
	_, err = room.OpenAt(t.Context(), event, time.Time{}, "")
	require.NoError(t, err)
	activate(t, g)
	line, err := room.State(t.Context(), event)
	require.NoError(t, err)
	require.True(t, line.Gated)
}
