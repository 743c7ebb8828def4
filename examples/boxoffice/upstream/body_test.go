package upstream

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkBody reads a body and checks the rules of all bodies.
func checkBody(t *testing.T, body []byte, id, size int) document {
	t.Helper()
	assert.Lenf(t, body, size, "artist %d: %d bytes", id, len(body))
	var d document
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	var fields map[string]json.RawMessage
	require.NoErrorf(t, json.Unmarshal(body, &fields), "artist %d of %d bytes", id, size)
	require.NoErrorf(t, json.Unmarshal(body, &d), "artist %d of %d bytes", id, size)
	if len(fields) != 6 || d.ID != strconv.Itoa(id) || d.Name == "" || d.Level == 0 || d.UpdatedAt.IsZero() || len(d.History) == 0 {
		t.Errorf("artist %d of %d bytes: %d fields, %+v", id, size, len(fields), d)
	}
	return d
}

func TestBodies(t *testing.T) {
	for _, size := range []int{minBody, 2001, 2002, 2003, 3000, 20_000, 65_536, 300_000} {
		u, same := open(t, Config{BodyBytes: size}), open(t, Config{BodyBytes: size})
		for _, id := range []int{1, 10, 1234, 10_000} {
			path := "/artists/" + strconv.Itoa(id)
			rec := do(t, u, "GET", path, "")
			body := rec.Body.Bytes()
			d := checkBody(t, body, id, size)
			rest := size - len(historyOf(t, body))
			if want := max(size*17/300, 1000); rest < want-20 || rest > want+20 {
				t.Errorf("%d bytes: %d are not history, want about %d", size, rest, want)
			}
			if h := rec.Header(); h.Get("ETag") != "" || h.Get("Content-Type") != "application/json" || h.Get("Content-Length") != strconv.Itoa(size) {
				t.Errorf("headers: %v", h)
			}
			if !bytes.Equal(do(t, u, "GET", path, "").Body.Bytes(), body) || !bytes.Equal(do(t, same, "GET", path, "").Body.Bytes(), body) {
				t.Errorf("%d bytes: artist %d differs from itself", size, id)
			}
			if other := checkBody(t, do(t, u, "GET", "/artists/5555", "").Body.Bytes(), 5555, size); bytes.Equal(other.Attributes, d.Attributes) {
				t.Errorf("artists %d and 5555 have the same attributes", id)
			}
		}
	}
}

func historyOf(t *testing.T, body []byte) []byte {
	t.Helper()
	var d struct {
		History json.RawMessage `json:"history"`
	}
	require.NoError(t, json.Unmarshal(body, &d))
	return d.History
}

func TestEveryArtist(t *testing.T) {
	u := open(t, Config{})
	seen := map[string]bool{}
	for id := 1; id <= Artists; id++ {
		head := u.bodies.headOf(u.revisions.current(id))
		body := append(bytes.Clone(*head), u.bodies.tailOf(artist{id: id})...)
		u.bodies.free(head)
		if id%97 == 0 { // reading them all takes long
			checkBody(t, body, id, 3000)
		}
		_, attributes, _ := bytes.Cut(body, []byte(`"attributes"`))
		seen[string(attributes)] = true
	}
	assert.Len(t, seen, Artists, "different artists")
}

func TestRevisions(t *testing.T) {
	u := open(t, Config{})
	before := do(t, u, "GET", "/artists/42", "").Body.Bytes()
	other := do(t, u, "GET", "/artists/43", "").Body.Bytes()
	old := checkBody(t, before, 42, 3000)
	rec := do(t, u, "POST", "/_/revise/42", "")
	var r Revised
	if err := json.Unmarshal(rec.Body.Bytes(), &r); err != nil || rec.Code != 200 {
		t.Fatalf("revise: %d %s %v", rec.Code, rec.Body, err)
	}
	after := do(t, u, "GET", "/artists/42", "").Body.Bytes()
	d := checkBody(t, after, 42, 3000)
	if d.Level != old.Level+1 || !d.UpdatedAt.After(old.UpdatedAt) || bytes.Equal(d.Attributes, old.Attributes) {
		t.Errorf("level %d → %d, updated %v → %v", old.Level, d.Level, old.UpdatedAt, d.UpdatedAt)
	}
	if r.ID != "42" || r.Revision != 1 || r.Level != d.Level || !r.UpdatedAt.Equal(d.UpdatedAt) {
		t.Errorf("the answer %+v is not the artist %+v", r, d)
	}
	assert.True(t, bytes.Equal(historyOf(t, before), historyOf(t, after)), "the history changed")
	if !bytes.Equal(do(t, u, "GET", "/artists/42", "").Body.Bytes(), after) || !bytes.Equal(do(t, u, "GET", "/artists/43", "").Body.Bytes(), other) {
		t.Error("something changed that was not revised")
	}
}

func TestReviseEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		u := open(t, Config{ReviseEvery: time.Minute, Clock: func() time.Duration { return time.Since(start) }})
		level := func(id int) uint64 { return u.revisions.current(id).level() }
		first := map[int]uint64{}
		for id := 1; id <= Artists; id++ {
			first[id] = level(id)
		}
		time.Sleep(15 * time.Second)
		changed := 0
		for id := 1; id <= Artists; id++ {
			if level(id) != first[id] {
				changed++
			}
		}
		// The phases are fixed, so this is a number and not a chance.
		if changed < Artists*23/100 || changed > Artists*27/100 {
			t.Errorf("%d of %d changed in a quarter of the period", changed, Artists)
		}
		time.Sleep(45 * time.Second)
		for id := 1; id <= Artists; id++ {
			if level(id) != first[id]+1 {
				t.Fatalf("artist %d went from level %d to %d in one period", id, first[id], level(id))
			}
		}
	})
}

// The parts of an artist may be taken and given back by many at once.
func TestHeadsAreNotShared(t *testing.T) {
	b := newBodies(3000)
	one := b.headOf(artist{id: 1})
	two := b.headOf(artist{id: 2})
	want := bytes.Clone(*one)
	b.free(two)
	b.headOf(artist{id: 3})
	assert.True(t, bytes.Equal(*one, want), "a head changed while it was in use")
}
