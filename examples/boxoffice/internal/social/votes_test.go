package social_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

func vote(t *testing.T, b *boxtest.Box, member, option string) {
	t.Helper()
	require.NoError(t, b.Social.Vote(t.Context(), member, "show-1", option))
}

func poll(t *testing.T, b *boxtest.Box, member string) social.Poll {
	t.Helper()
	p, err := b.Social.Poll(t.Context(), member, "show-1")
	require.NoError(t, err)
	return p
}

// closed are the messages of the votes that ended since the last look.
func closed(t *testing.T, b *boxtest.Box) (all []string) {
	t.Helper()
	for _, e := range b.Outbox.Take() {
		var n events.Noticed
		if err := e.UnmarshalData(&n); err != nil || e.Type != events.VoteClosed || n.MemberID != "" || e.Key() != n.RefID {
			t.Errorf("%s %s %+v %v", e.Type, e.Key(), n, err)
		}
		if text := notices.Text("en", notices.VoteClosed, n.Params, ""); text != n.Message {
			t.Errorf("the parameters say %q, the message %q", text, n.Message)
		}
		all = append(all, n.RefID+": "+n.Message)
	}
	return all
}

func TestVote(t *testing.T) {
	b := boxtest.New(t)
	options := social.Options()
	vote(t, b, "ann", options[0])
	vote(t, b, "bob", options[0])
	vote(t, b, "cid", options[1])
	vote(t, b, "bob", options[1]) // changes the ballot
	vote(t, b, "bob", options[1])
	p := poll(t, b, "bob")
	if !p.Open || p.Choice != options[1] || !p.ClosedAt.IsZero() || len(p.Tally) != len(options) ||
		p.Tally[0] != (social.Tally{Option: options[0], Votes: 1}) || p.Tally[1].Votes != 2 {
		t.Errorf("%+v", p)
	}
	if left := time.Until(p.ClosesAt); left < 6*24*time.Hour || left > 8*24*time.Hour {
		t.Errorf("it closes in %s", left)
	}
	assert.ErrorIs(t, b.Social.Vote(t.Context(), "ann", "show-1", "Whatever"), social.ErrNoOption)
	assert.Equal(t, "", poll(t, b, "").Choice, "nobody has a choice")

	for range 2 {
		require.NoError(t, b.Social.Close(t.Context(), "show-1"))
	}
	want := "show-1: The setlist vote for Moonlight Parade is over: " + options[1] + " won"
	if got := closed(t, b); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	assert.ErrorIs(t, b.Social.Vote(t.Context(), "dan", "show-1", options[0]), social.ErrVoteClosed)
	if p := poll(t, b, "ann"); p.Open || p.ClosedAt.IsZero() || p.Choice != options[0] || p.Tally[0].Votes != 1 {
		t.Errorf("%+v", p)
	}
	if err := b.Social.Open(t.Context()); err != nil { // a later start
		t.Fatal(err)
	}
	if poll(t, b, "").Open {
		t.Error("a vote that is over was opened again")
	}
	b.Exec(t, `DELETE FROM votes WHERE show_id = 'show-2'`)
	_, err := b.Social.Poll(t.Context(), "", "show-2")
	for _, err := range []error{err, b.Social.Close(t.Context(), "show-2"), b.Social.Vote(t.Context(), "ann", "show-2", options[0])} {
		assert.ErrorIs(t, err, social.ErrNoVote)
	}
}

func TestVoteEnds(t *testing.T) {
	b := boxtest.New(t)
	options := social.Options()
	vote(t, b, "ann", options[2])
	vote(t, b, "bob", options[3])
	b.Exec(t, `UPDATE votes SET closes_at = now_ms() - 1 WHERE show_id = 'show-1'`)
	// The vote is over, though no sweep has ended it yet.
	assert.ErrorIs(t, b.Social.Vote(t.Context(), "cid", "show-1", options[0]), social.ErrVoteClosed)
	if p := poll(t, b, ""); p.Open || !p.ClosedAt.IsZero() {
		t.Errorf("%+v", p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Social.Votes.Run(ctx) }()
	boxtest.WaitFor(t, "the end of the vote", func() bool { return b.Outbox.Saw(events.VoteClosed, "show-1") })
	b.Exec(t, `UPDATE votes SET closes_at = now_ms() + 50 WHERE show_id = 'show-3'`)
	boxtest.WaitFor(t, "the end of another", func() bool { return b.Outbox.Saw(events.VoteClosed, "show-3") })
	cancel()
	assert.NoError(t, <-done)
	got := closed(t, b)
	if len(got) != 2 || got[0] != "show-1: The setlist vote for Moonlight Parade is over: "+options[2]+" and "+options[3]+" won" ||
		got[1] != "show-3: The setlist vote for Night Train to Gangneung is over" {
		t.Errorf("%q", got)
	}
	// The lease was given back.
	_, err := b.Store.TakeLease(t.Context(), "vote-close", "another", time.Minute)
	assert.NoError(t, err, "the lease after the end")
}

func TestOneSweeper(t *testing.T) {
	b := boxtest.New(t)
	mine, err := b.Store.TakeLease(t.Context(), "vote-close", "test", time.Minute)
	require.NoError(t, err)
	b.Exec(t, `UPDATE votes SET closes_at = 1`)
	b.Exec(t, `UPDATE leases SET expires_at = 1`)
	theirs, err := b.Store.TakeLease(t.Context(), "vote-close", "another", time.Minute)
	require.NoError(t, err)
	if n, err := b.Social.Sweep(t.Context(), mine, 10); n != 0 || !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("without the lease: %d, %v", n, err)
	}
	assert.Empty(t, closed(t, b))
	x, err := social.New(b.Store, b.Catalog, b.Outbox, memcounter.New(), social.Config{Holder: "another"})
	require.NoError(t, err)
	for _, want := range []int{3, 2, 0} {
		if n, err := x.Sweep(t.Context(), theirs, 3); n != want || err != nil {
			t.Errorf("with the lease: %d, %v; want %d", n, err, want)
		}
	}
	assert.Len(t, closed(t, b), 5)
}
