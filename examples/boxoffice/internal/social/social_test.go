package social_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

// told returns the types and keys of the events appended since the last look.
func told(b *boxtest.Box) (all []event.Event, types string) {
	all = b.Outbox.Take()
	var names []string
	for _, e := range all {
		names = append(names, e.Type+" "+e.Key())
	}
	return all, strings.Join(names, ", ")
}

// members have signed in once.
func members(t *testing.T, b *boxtest.Box, ids ...string) {
	t.Helper()
	for _, id := range ids {
		err := b.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return b.Store.AddMember(ctx, tx, id) })
		require.NoError(t, err)
	}
}

func comment(t *testing.T, b *boxtest.Box, member, show, text string) social.Comment {
	t.Helper()
	c, err := b.Social.Comment(t.Context(), member, show, text)
	require.NoError(t, err)
	return c
}

func texts(t *testing.T, b *boxtest.Box, show, before string, limit int) (all []string, last string) {
	t.Helper()
	list, err := b.Social.Comments(t.Context(), show, before, limit)
	require.NoError(t, err)
	for _, c := range list {
		all, last = append(all, c.Text), c.ID
	}
	return all, last
}

func TestComment(t *testing.T) {
	b := boxtest.New(t)
	c := comment(t, b, "ann", "show-1", "first")
	all, types := told(b)
	require.Equal(t, "CommentCreated ann, CommentCountDeltaPublished show-1", types)
	var notice events.Noticed
	var counted events.Counted
	require.NoError(t, errors.Join(all[0].UnmarshalData(&notice), all[1].UnmarshalData(&counted)))
	if notice.MemberID != "ann" || notice.RefID != "show-1" || notice.Message != "ann wrote about Moonlight Parade" ||
		notice.Params.Member != "ann" || notice.Params.Show != "Moonlight Parade" || !notice.At.Equal(c.CreatedAt) {
		t.Errorf("%+v", notice)
	}
	if counted.CommentID != c.ID || counted.Delta != 1 {
		t.Errorf("%+v", counted)
	}
	comment(t, b, "bob", "show-1", "second")
	comment(t, b, "ann", "show-1", "third")
	comment(t, b, "ann", "show-2", "elsewhere")
	page, last := texts(t, b, "show-1", "", 2)
	assert.Equal(t, []string{"third", "second"}, page)
	if page, _ = texts(t, b, "show-1", last, 2); !slices.Equal(page, []string{"first"}) {
		t.Error(page)
	}
	if _, err := b.Social.Comment(t.Context(), "ann", "show-9", "x"); !errors.Is(err, catalog.ErrNoShow) {
		t.Error(err)
	}
	if _, err := b.Social.Comments(t.Context(), "show-9", "", 2); !errors.Is(err, catalog.ErrNoShow) {
		t.Error(err)
	}
}

func TestDeleteComment(t *testing.T) {
	b := boxtest.New(t)
	c := comment(t, b, "ann", "show-1", "mine")
	b.Outbox.Take()
	assert.ErrorIs(t, b.Social.DeleteComment(t.Context(), "bob", c.ID), social.ErrNotYours)
	assert.ErrorIs(t, b.Social.DeleteComment(t.Context(), "ann", "none"), social.ErrNoComment)
	if _, types := told(b); types != "" {
		t.Error(types)
	}
	// Many at once: it is deleted once.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			assert.NoError(t, b.Social.DeleteComment(t.Context(), "ann", c.ID))
		})
	}
	wg.Wait()
	all, types := told(b)
	require.Equal(t, "CommentCountDeltaPublished show-1", types)
	var counted events.Counted
	if err := all[0].UnmarshalData(&counted); err != nil || counted.Delta != -1 || counted.CommentID != c.ID {
		t.Errorf("%+v, %v", counted, err)
	}
	if page, _ := texts(t, b, "show-1", "", 10); len(page) != 0 {
		t.Error(page)
	}
	assert.Equal(t, "mine", b.Query(t, `SELECT text FROM comments WHERE comment_id = $1 AND deleted_at IS NOT NULL`, c.ID), "the row holds")
}

// broken refuses every event.
type broken struct{}

func (broken) Append(context.Context, sqltx.Execer, ...event.Event) error {
	return errors.New("the outbox is broken")
}

func TestNothingIsHalfDone(t *testing.T) {
	b := boxtest.New(t)
	members(t, b, "bob")
	x, err := social.New(b.Store, b.Catalog, broken{}, memcounter.New(), social.Config{Holder: "test"})
	require.NoError(t, err)
	_, commented := x.Comment(t.Context(), "ann", "show-1", "x")
	for what, err := range map[string]error{
		"comment": commented, "like": x.Like(t.Context(), "ann", "show-1"), "follow": x.Follow(t.Context(), "ann", "bob"),
		"view": x.View(t.Context(), "", "show-1"), "close": x.Close(t.Context(), "show-1"),
	} {
		if err == nil || !strings.Contains(err.Error(), "the outbox is broken") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, table := range []string{"comments", "count_changes", "likes", "follows", "votes WHERE closed_at IS NOT NULL"} {
		if got := b.Query(t, `SELECT COUNT(*) FROM `+table); got != "0" {
			t.Errorf("%s rows in %s", got, table)
		}
	}
}

func TestLike(t *testing.T) {
	b := boxtest.New(t)
	do := func(fn func(context.Context, string, string) error, want string) {
		t.Helper()
		require.NoError(t, fn(t.Context(), "ann", "show-2"))
		if _, types := told(b); types != want {
			t.Fatalf("told %q, want %q", types, want)
		}
	}
	do(b.Social.Unlike, "")
	do(b.Social.Like, "ShowLiked show-2, PostLiked ann")
	do(b.Social.Like, "")
	if shows, err := b.Social.Liked(t.Context(), "ann"); err != nil || !slices.Equal(shows, []string{"show-2"}) {
		t.Error(shows, err)
	}
	do(b.Social.Unlike, "ShowUnliked show-2")
	do(b.Social.Unlike, "")
	do(b.Social.Like, "ShowLiked show-2, PostLiked ann")
	for _, fn := range []func(context.Context, string, string) error{b.Social.Like, b.Social.Unlike, b.Social.View} {
		assert.ErrorIs(t, fn(t.Context(), "ann", "show-9"), catalog.ErrNoShow)
	}
}

func TestOneLikeOfMany(t *testing.T) {
	b := boxtest.New(t)
	members(t, b, "bob")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			assert.NoError(t, errors.Join(b.Social.Like(t.Context(), "ann", "show-1"), b.Social.Follow(t.Context(), "ann", "bob")))
		})
	}
	wg.Wait()
	n := map[string]int{}
	for _, e := range b.Outbox.Take() {
		n[e.Type]++
	}
	if len(n) != 3 || n[events.ShowLiked] != 1 || n[events.PostLiked] != 1 || n[events.MemberFollowed] != 1 {
		t.Error(n)
	}
}

func TestFollow(t *testing.T) {
	b := boxtest.New(t)
	members(t, b, "ann", "bob")
	for range 2 {
		require.NoError(t, b.Social.Follow(t.Context(), "ann", "bob"))
	}
	all, types := told(b)
	require.Equal(t, "MemberFollowed ann", types)
	var notice events.Noticed
	if err := all[0].UnmarshalData(&notice); err != nil || notice.RefID != "bob" || notice.Message != "ann follows you" || notice.Params.Member != "ann" {
		t.Errorf("%+v, %v", notice, err)
	}
	assert.ErrorIs(t, b.Social.Follow(t.Context(), "ann", "nobody"), social.ErrNoMember)
	assert.ErrorIs(t, b.Social.Follow(t.Context(), "ann", "ann"), social.ErrSelf)
	if list, err := b.Social.Follows(t.Context(), "ann"); err != nil || !slices.Equal(list, []string{"bob"}) {
		t.Error(list, err)
	}
	for range 2 {
		require.NoError(t, b.Social.Unfollow(t.Context(), "ann", "bob"))
	}
	if list, err := b.Social.Follows(t.Context(), "ann"); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func TestConfig(t *testing.T) {
	b := boxtest.New(t)
	for _, cfg := range []social.Config{{}, {Holder: "x", Vote: -1}, {Holder: "x", LeaseTTL: -1}, {Holder: "x", Flush: -1}} {
		if _, err := social.New(b.Store, b.Catalog, b.Outbox, memcounter.New(), cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	if _, err := social.New(b.Store, b.Catalog, b.Outbox, nil, social.Config{Holder: "x"}); err == nil {
		t.Error("no store of deltas was taken")
	}
	var _ []store.Consumer = b.Social.Consumers()
}
