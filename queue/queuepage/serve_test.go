package queuepage_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/queuepage"
)

func newPage(t *testing.T, cfg queuepage.Config) http.Handler {
	t.Helper()
	p, err := queuepage.New(cfg)
	require.NoError(t, err)
	return p
}

func serve(p http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func get(t *testing.T, cfg queuepage.Config) (string, http.Header) {
	t.Helper()
	w := serve(newPage(t, cfg), "GET", "/queue/e")
	return w.Body.String(), w.Header()
}

func TestPageIsTheSameForAll(t *testing.T) {
	p := newPage(t, queuepage.Config{})
	first := serve(p, "GET", "/queue/a")
	if first.Code != 200 || first.Header().Get("Content-Type") != "text/html; charset=utf-8" || first.Header().Get("Content-Length") != strconv.Itoa(first.Body.Len()) {
		t.Errorf("%d %v", first.Code, first.Header())
	}
	for _, path := range []string{"/queue/b", "/queue/a?lang=ko", "/queue/%3Cscript%3E", "/elsewhere"} {
		other := serve(p, "GET", path, "Accept-Language", "ko", "Cookie", "lang=ko", "Authorization", "Bearer x")
		if !bytes.Equal(other.Body.Bytes(), first.Body.Bytes()) || other.Header().Get("ETag") != first.Header().Get("ETag") {
			t.Errorf("%s has another page", path)
		}
	}
	again := newPage(t, queuepage.Config{})
	assert.Equal(t, first.Header().Get("ETag"), serve(again, "GET", "/").Header().Get("ETag"), "another process has another ETag for the same page")
	gate := serve(newPage(t, queuepage.Config{Gate: true}), "GET", "/")
	if gate.Header().Get("ETag") == first.Header().Get("ETag") {
		t.Error("another page has the same ETag")
	}
}

func TestHeaders(t *testing.T) {
	p := newPage(t, queuepage.Config{MaxAge: 90 * time.Second})
	h := serve(p, "GET", "/").Header()
	for name, want := range map[string]string{
		"Cache-Control": "public, max-age=90, must-revalidate", "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	assert.Equal(t, "", h.Get("Set-Cookie"), "what caches share sets a cookie")
	head := serve(p, "HEAD", "/")
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != h.Get("Content-Length") || head.Header().Get("ETag") != h.Get("ETag") {
		t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
	post := serve(p, "POST", "/")
	if post.Code != 405 || post.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", post.Code, post.Header())
	}
}

func TestRevalidation(t *testing.T) {
	p := newPage(t, queuepage.Config{})
	plain, packed := serve(p, "GET", "/").Header().Get("ETag"), serve(p, "GET", "/", "Accept-Encoding", "gzip").Header().Get("ETag")
	if plain == packed || !strings.HasPrefix(plain, `"`) || !strings.HasPrefix(packed, `"`) {
		t.Errorf("the two encodings have the tags %s and %s", plain, packed)
	}
	for _, c := range []struct {
		match string
		want  int
	}{{plain, 304}, {packed, 304}, {"W/" + plain, 304}, {`"x", ` + plain, 304}, {"*", 304}, {`"x"`, 200}, {"", 200}, {strings.Trim(plain, `"`), 200}} {
		w := serve(p, "GET", "/", "If-None-Match", c.match)
		if w.Code != c.want || (w.Code == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != plain || w.Header().Get("Cache-Control") == "" || w.Header().Get("Content-Security-Policy") == "")) {
			t.Errorf("If-None-Match %s: %d, %d bytes, %v", c.match, w.Code, w.Body.Len(), w.Header())
		}
	}
}

func TestGzip(t *testing.T) {
	p := newPage(t, queuepage.Config{})
	plain := serve(p, "GET", "/").Body.Bytes()
	for accept, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "GZIP": true, "*": true, "gzip;q=0": false, "*;q=0, gzip": true, "*, gzip; q=0.0": false, "br": false, "": false, "gzip;q=x": false,
	} {
		w := serve(p, "GET", "/", "Accept-Encoding", accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("Accept-Encoding %q: packed %v, want %v", accept, got, want)
			continue
		}
		body := w.Body.Bytes()
		if want {
			zip, err := gzip.NewReader(w.Body)
			require.NoError(t, err)
			if body, err = io.ReadAll(zip); err != nil {
				t.Fatal(err)
			}
		}
		assert.Truef(t, bytes.Equal(body, plain), "Accept-Encoding %q: another document", accept)
	}
}

// TestPolicyMatches compares the hashes of the policy with the content of the
// document, of every kind and brand.
func TestPolicyMatches(t *testing.T) {
	for _, cfg := range []queuepage.Config{{}, {Gate: true}, {Brand: office(t)}} {
		document, header := get(t, cfg)
		policy := header.Get("Content-Security-Policy")
		for directive, tag := range map[string]string{"script-src": "script", "style-src": "style"} {
			found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(document, -1)
			require.Lenf(t, found, 1, "%d elements %s", len(found), tag)
			sum := sha256.Sum256([]byte(found[0][1]))
			if want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"; !strings.Contains(policy, want) {
				t.Errorf("%s is not in %s", want, policy)
			}
		}
		for _, never := range []string{"unsafe", "http", "*", "nonce"} {
			assert.NotContainsf(t, policy, never, "the policy has %q: %s", never, policy)
		}
		assert.Truef(t, strings.HasPrefix(policy, "default-src 'none'; "), "the policy is open: %s", policy)
		if found := regexp.MustCompile(`(?i)\son\w+="|\sstyle="|="javascript:|<script src|<link rel="stylesheet"|https?://[^w]`).FindString(document); found != "" {
			t.Errorf("the document has %q", found)
		}
	}
}

func TestFootprint(t *testing.T) {
	p := newPage(t, queuepage.Config{Brand: office(t), Show: "/api/shows/{eventId}", Solver: "/queue-solver.js"})
	plain, packed := serve(p, "GET", "/").Body.Len(), serve(p, "GET", "/", "Accept-Encoding", "gzip").Body.Len()
	t.Logf("%d bytes, %d packed", plain, packed)
	if plain > 40<<10 || packed > 14<<10 {
		t.Errorf("%d bytes, %d packed: at most 40 KB and 14 KB", plain, packed)
	}
}

func TestServeInPlace(t *testing.T) {
	p := newPage(t, queuepage.Config{Event: "sale", RetryAfter: 7 * time.Second})
	in := func(method string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/shop/shoes?size=9", nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w
	}
	w := in("GET", "If-None-Match", "*")
	if w.Code != 503 || w.Header().Get("Retry-After") != "7" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("ETag") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if !strings.Contains(w.Body.String(), `"event":"sale"`) || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("the page does not know its event: %v", w.Header())
	}
	if w := in("HEAD"); w.Code != 503 || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	if w := in("GET", "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("packed: %v", w.Header())
	}
}
