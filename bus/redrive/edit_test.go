package redrive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
)

func TestEdit(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, "1", "2", "3")
		l := letters(t, b)
		got, err := l.Show(t.Context(), "2")
		require.NoError(t, err)
		change := func(old, new string) []byte { return []byte(strings.ReplaceAll(string(got.Payload), old, new)) }
		for want, payload := range map[string][]byte{
			"is no event":    []byte("{}"),
			`has the id "9"`: change(`"id":"2"`, `"id":"9"`),
			`has the key`:    change(`"subject":"key"`, `"subject":"other"`),
		} {
			if err := l.Edit(t.Context(), "2", payload); !errors.Is(err, redrive.ErrPayload) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		assert.ErrorIs(t, l.Edit(t.Context(), "4", got.Payload), redrive.ErrNotFound, "an unknown id")
		is(t, "pending after refusals", pending(t, b), "1 2 3")
		for n := 1; n <= 2; n++ {
			require.NoError(t, l.Edit(t.Context(), "2", change(`"of":"2"`, fmt.Sprintf(`"of":"edited %d"`, n))))
		}
		edited, err := l.Show(t.Context(), "2")
		require.NoError(t, err)
		if edited.Edits != 2 || edited.Error != "timeout" || edited.Metadata["custom"] != "header of 2" || !strings.Contains(string(edited.Payload), "edited 2") {
			t.Errorf("after two edits: %+v", edited)
		}
		_, err = l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		all := received(t, b, "orders")
		require.Len(t, all, 3, "messages were redriven")
		for _, m := range all {
			if m.UUID == "2" && (!strings.Contains(string(m.Payload), "edited 2") || len(m.Metadata) != 4) {
				t.Errorf("redriven after the edits: %s %v", m.Payload, m.Metadata)
			}
		}
	})
}

// A crash can leave a letter and its edited copy; the copy counts.
func TestAnEditIsNotLostBesideItsOriginal(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		again := dead(t, "1", "OrderPlaced")
		again.Payload = []byte(strings.ReplaceAll(string(again.Payload), `"of":"1"`, `"of":"edited"`))
		again.Metadata.Set(driver.DLQEdits, "1")
		bury(t, b, "1")
		publish(t, b, dlt, again)
		l := letters(t, b)
		got, err := l.Show(t.Context(), "1")
		if err != nil || got.Edits != 1 {
			t.Errorf("shown: %+v %v", got, err)
		}
		_, err = l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		all := received(t, b, "orders")
		if n := len(all); n == 0 || !strings.Contains(string(all[n-1].Payload), "edited") {
			t.Errorf("%d were redriven, and the last is not the edited one", n)
		}
		is(t, "pending", pending(t, b), "")
	})
}

// The letters of two groups are edited both, and stay those of two groups.
func TestAnEditKeepsTheLettersOfTwoGroups(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		other := dead(t, "1", "OrderPlaced")
		other.Metadata.Set(driver.DLQGroup, "mailer")
		bury(t, b, "1")
		publish(t, b, dlt, other)
		l := letters(t, b)
		edited := []byte(strings.ReplaceAll(string(other.Payload), `"of":"1"`, `"of":"edited"`))
		require.NoError(t, l.Edit(t.Context(), "1", edited))
		got, err := l.List(t.Context(), redrive.Filter{}, 0)
		require.NoError(t, err)
		groups := map[string]string{}
		for _, letter := range got.Letters {
			groups[letter.Group] = string(letter.Payload)
		}
		assert.Equal(t, map[string]string{"billing": string(edited), "mailer": string(edited)}, groups)
	})
}
