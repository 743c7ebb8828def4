package artist

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive/s3fake"
)

// Snapshots go to an object store and come back. A snapshot whose upload the store
// did not confirm stays in the database, whether the store has it or not.
func TestArchiveInBucket(t *testing.T) {
	server := &s3fake.Server{Bucket: "snapshots", Region: "us-east-1", Key: "key", Secret: "secret"}
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	o, err := archive.Open(t.Context(), "s3://key:secret@snapshots?region=us-east-1&endpoint="+at.URL)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, o.(io.Closer).Close())
	})
	r, a := newArchiver(t, o)
	ids := []string{"1", "2", "3"}
	for _, id := range ids {
		r.unread(t, id, 31)
	}
	// The store keeps the objects, and its answers are lost.
	server.Set(func(w http.ResponseWriter, q *http.Request) bool {
		if q.Method == http.MethodPut {
			server.Keep(q)
			s3fake.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}
		return false
	})
	if err := a.Archive(t.Context()); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Fatalf("%v", err)
	}
	for _, id := range ids {
		if v := r.get(t, id); !r.stored(t, id) || level(v) != "1" {
			t.Errorf("artist %s reads %s, in the database: %v", id, v.Snapshot, r.stored(t, id))
		}
	}
	if n := len(server.Objects()); n != len(ids) {
		t.Fatalf("the store has %d objects", n)
	}
	r.mirror.touches.take()
	server.Set(nil)
	require.NoError(t, a.Archive(t.Context()))
	for _, id := range ids {
		if v := r.get(t, id); r.stored(t, id) || level(v) != "1" {
			t.Errorf("archived: artist %s reads %s, in the database: %v", id, v.Snapshot, r.stored(t, id))
		}
	}
	if s := r.mirror.Stats(); s.Archived != 3 || s.Unarchived != 3 {
		t.Errorf("%d moved and %d read back", s.Archived, s.Unarchived)
	}
	// A snapshot that comes back damaged counts as missing, and is asked for again.
	server.Set(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, "damaged")
		return true
	})
	if v := r.get(t, "1"); v.Snapshot != nil || !v.UpdateQueued {
		t.Errorf("damaged: %+v", v)
	}
}
