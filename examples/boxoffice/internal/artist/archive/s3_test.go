package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive/s3fake"
)

const theSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY"

// bucket starts an object store and opens it; more is added to the URL.
func bucket(t *testing.T, more string) (*s3fake.Server, *archive.S3) {
	t.Helper()
	server := &s3fake.Server{Bucket: "snapshots", Region: "eu-central-1", Key: "AKIDEXAMPLE", Secret: theSecret}
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	return server, openS3(t, "AKIDEXAMPLE:wJalrXUtnFEMI%2FK7MDENG+bPxRfiCY@snapshots/box/artists?region=eu-central-1&endpoint="+at.URL+more)
}

func openS3(t *testing.T, rest string) *archive.S3 {
	t.Helper()
	s, err := archive.Open(t.Context(), "s3://"+rest)
	require.NoError(t, err)
	s3, ok := s.(*archive.S3)
	require.Truef(t, ok, "an S3 URL opens a %T", s)
	s3.Hurry()
	t.Cleanup(func() {
		assert.NoError(t, s3.Close())
	})
	return s3
}

// A server that is busy, slow, breaks off or is briefly gone is asked again; one that
// stays so fails, and an upload that it did not accept does not count as put.
func TestS3Trouble(t *testing.T) {
	busy := func(status int, code string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { s3fake.Refuse(w, status, code); return true }
	}
	troubles := map[string]func(http.ResponseWriter, *http.Request) bool{
		"503": busy(503, "SlowDown"),
		"500": busy(500, "InternalError"),
		"429": busy(429, ""),
		"slow": func(_ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body) // a server sees its client go only after that
			<-r.Context().Done()
			return true
		},
		"cut": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
		"truncated": func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "only this")
			return true
		},
	}
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, "&timeout=300ms")
			require.NoError(t, s.Put(t.Context(), 1, "7", []byte("old")))
			var left atomic.Int64
			once := func(w http.ResponseWriter, r *http.Request) bool {
				return left.Add(-1) >= 0 && trouble(w, r)
			}
			server.Set(once)
			left.Store(1)
			assert.NoError(t, s.Put(t.Context(), 1, "7", []byte("new")), "put, with trouble once")
			left.Store(1)
			if got, err := s.Get(t.Context(), 1, "7"); err != nil || string(got) != "new" {
				t.Errorf("get, with trouble once: %q, %v", got, err)
			}
			left.Store(1000)
			before := server.Requests()
			if err := s.Put(t.Context(), 1, "8", []byte("never")); err == nil || errors.Is(err, archive.ErrNotFound) {
				t.Errorf("put, with trouble all the time: %v", err)
			}
			if n := server.Requests() - before; n != 4 {
				t.Errorf("asked %d times, want 4", n)
			}
			if got, err := s.Get(t.Context(), 1, "7"); err == nil || errors.Is(err, archive.ErrNotFound) {
				t.Errorf("get, with trouble all the time: %q, %v", got, err)
			}
			server.Set(nil)
			assert.Len(t, server.Objects(), 1, "objects")
			if got, err := s.Get(t.Context(), 1, "7"); err != nil || string(got) != "new" {
				t.Errorf("afterwards: %q, %v", got, err)
			}
		})
	}
}

// A permanent failure is returned at once, with the next step; no error names the
// secret.
func TestS3Refusals(t *testing.T) {
	server, good := bucket(t, "")
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	with := func(user, bucket, region string) *archive.S3 {
		return openS3(t, user+"@"+bucket+"/box?region="+region+"&endpoint="+at.URL)
	}
	for name, c := range map[string]struct {
		s    *archive.S3
		says string
	}{
		"wrong secret": {with("AKIDEXAMPLE:other"+"%2Fsecret", "snapshots", "eu-central-1"), "SignatureDoesNotMatch; check the credentials"},
		"wrong key":    {with("NOBODY:other%2Fsecret", "snapshots", "eu-central-1"), "InvalidAccessKeyId; check the credentials"},
		"wrong region": {with("AKIDEXAMPLE:other%2Fsecret", "snapshots", "us-west-2"), "AuthorizationHeaderMalformed; name the bucket's own region"},
		"no bucket":    {with("AKIDEXAMPLE:wJalrXUtnFEMI%2FK7MDENG+bPxRfiCY", "elsewhere", "eu-central-1"), "NoSuchBucket; make the bucket"},
	} {
		before := server.Requests()
		err := c.s.Put(t.Context(), 1, "7", []byte("x"))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") || strings.Contains(fmt.Sprintf("%+v %#v", err, err.Error()), theSecret) {
			t.Errorf("%s: put: %v; want %q", name, err, c.says)
		}
		if _, err := c.s.Get(t.Context(), 1, "7"); err == nil || errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%s: get: %v", name, err)
		}
		assert.Errorf(t, c.s.Delete(t.Context(), 1, "7"), "%s: delete went well", name)
		if n := server.Requests() - before; n != 3 {
			t.Errorf("%s: %d requests, want 3", name, n)
		}
	}
	// An object damaged in transit is refused by the signed hash.
	server.Set(func(_ http.ResponseWriter, r *http.Request) bool {
		r.Body = io.NopCloser(strings.NewReader("damaged"))
		return false
	})
	if err := good.Put(t.Context(), 1, "7", []byte("sound")); err == nil || !strings.Contains(err.Error(), "XAmzContentSHA256Mismatch") {
		t.Errorf("damaged on its way: %v", err)
	}
	server.Set(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		return true
	})
	if err := good.Put(t.Context(), 1, "7", []byte("x")); err == nil || !strings.Contains(err.Error(), "?region=") {
		t.Errorf("a redirect: %v", err)
	}
	// A proxy's page contains a secret, which must not reach a log.
	server.Set(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>"+theSecret+"</Code></Error>")
		return true
	})
	if err := good.Put(t.Context(), 1, "7", []byte("x")); err == nil || strings.Contains(err.Error(), theSecret) {
		t.Errorf("an answer with the secret: %v", err)
	}
	server.Set(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(make([]byte, 16<<20+1))
		return true
	})
	if _, err := good.Get(t.Context(), 1, "7"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("an object without end: %v", err)
	}
}

// A cancelled call returns at once.
func TestS3Canceled(t *testing.T) {
	server, s := bucket(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	server.Set(func(w http.ResponseWriter, _ *http.Request) bool {
		cancel()
		s3fake.Refuse(w, 503, "SlowDown")
		return true
	})
	began := time.Now()
	assert.ErrorIs(t, s.Put(ctx, 1, "7", []byte("x")), context.Canceled)
	if n, took := server.Requests(), time.Since(began); n != 1 || took > 10*time.Second {
		t.Errorf("%d requests in %v", n, took)
	}
}

// Credentials, and the region, of the environment.
func TestS3Environment(t *testing.T) {
	server := &s3fake.Server{Bucket: "snapshots", Region: "ap-northeast-2", Key: "ENVIRONMENT", Secret: "from-there"}
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "ENVIRONMENT")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "from-there")
	t.Setenv("AWS_REGION", "ap-northeast-2")
	s := openS3(t, "snapshots?endpoint="+at.URL)
	require.NoError(t, s.Put(t.Context(), 3, "7", []byte("x")))
	if all := server.Objects(); len(all) != 1 || !strings.HasPrefix(all[0], "tier-3/") {
		t.Errorf("objects %q", all)
	}
}
