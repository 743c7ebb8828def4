package gate_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

const large = 100 << 20

// untouched is a site that knows nothing of gates: a folder, a socket, a stream,
// uploads and a large file.
func untouched(t *testing.T, next chan struct{}) http.Handler {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "style.css"), []byte("body{color:teal}"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "ünder"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ünder", "a b.txt"), []byte("spaced"), 0o600))
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServer(http.Dir(folder)))
	mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()                //nolint:errcheck // the test ends
		_, _ = io.Copy(conn, both.Reader) // it says what it hears
	})
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next // until the client has read it
		}
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "6")
		for _, half := range []string{"abc", "def"} {
			_, _ = io.WriteString(w, half) // the client tells
			w.(http.Flusher).Flush()
			<-next
		}
	})
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		size, err := io.Copy(sum, r.Body)
		fmt.Fprintf(w, "%d %x %v %v %s", size, sum.Sum(nil), r.TransferEncoding, err, r.Trailer.Get("X-Sum"))
	})
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(large))
		block := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
		for range large / len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.RequestURI, r.Header.Get("X-Own"))
	})
	return mux
}

// visitor is a client with a place, or one of the bare site.
func visitor(t *testing.T, at string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Jar: jar, Transport: transport}
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), "GET", at+"/style.css", nil)
		require.NoError(t, err)
		r.Header = navigation.Clone()
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	return client
}

// An untouched site behind a gate answers its visitors as it does without one.
func TestSiteAsWithout(t *testing.T) {
	next := make(chan struct{})
	bare := httptest.NewServer(untouched(t, next))
	t.Cleanup(bare.Close)
	at, err := url.Parse(bare.URL)
	require.NoError(t, err)
	s := newSite(t, queue.Config{Threshold: 100}, func(c *gate.Config) { c.Origin, c.Transport = at, nil })
	gated := httptest.NewServer(s.handler)
	t.Cleanup(gated.Close)

	both := func(name string, play func(t *testing.T, client *http.Client, at string) string) {
		t.Run(name, func(t *testing.T) {
			without := play(t, visitor(t, bare.URL), bare.URL)
			require.NotEmpty(t, without)
			require.Equal(t, without, play(t, visitor(t, gated.URL), gated.URL))
		})
	}
	get := func(t *testing.T, client *http.Client, r *http.Request) string {
		t.Helper()
		answer, err := client.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close() //nolint:errcheck // read to its end
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		kept := answer.Header.Clone()
		for _, name := range []string{"Date", "Cache-Control"} {
			kept.Del(name)
		}
		return fmt.Sprintf("%d %d %v %v %s", answer.StatusCode, answer.ContentLength, kept, answer.TransferEncoding, strings.ReplaceAll(string(text), r.Host, "HOST"))
	}
	request := func(t *testing.T, method, target string, body io.Reader) *http.Request {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, target, body)
		require.NoError(t, err)
		return r
	}
	both("a folder", func(t *testing.T, client *http.Client, at string) string {
		out := ""
		for _, path := range []string{"/style.css", "/%C3%BCnder/a%20b.txt", "/%C3%BCnder/", "/none", "/echo?x=%zz&;=%2F"} {
			out += get(t, client, request(t, "GET", at+path, nil))
		}
		part := request(t, "GET", at+"/style.css", nil)
		part.Header.Set("Range", "bytes=2-5")
		return out + get(t, client, part)
	})
	both("an upload in chunks", func(t *testing.T, client *http.Client, at string) string {
		reader, writer := io.Pipe()
		go func() {
			for i := range 500 {
				fmt.Fprintf(writer, "part %d %s\n", i, strings.Repeat("x", 10_000)) //nolint:errcheck // the reader tells
			}
			writer.Close() //nolint:errcheck // it never fails
		}()
		r := request(t, "POST", at+"/upload", reader)
		r.Trailer = http.Header{"X-Sum": {"seven"}}
		return get(t, client, r)
	})
	both("a stream of events", func(t *testing.T, client *http.Client, at string) string {
		answer, err := client.Do(request(t, "GET", at+"/stream", nil))
		require.NoError(t, err)
		defer answer.Body.Close() //nolint:errcheck // read to its end
		lines, out := bufio.NewReader(answer.Body), ""
		for range 3 {
			line, err := lines.ReadString('\n') // it comes while the origin waits to go on
			require.NoError(t, err)
			out += line
			_, err = lines.ReadString('\n')
			require.NoError(t, err)
			next <- struct{}{}
		}
		return out
	})
	both("a slow answer of a known length", func(t *testing.T, client *http.Client, at string) string {
		answer, err := client.Do(request(t, "GET", at+"/slow", nil))
		require.NoError(t, err)
		defer answer.Body.Close() //nolint:errcheck // read to its end
		half, out := make([]byte, 3), ""
		for range 2 {
			_, err := io.ReadFull(answer.Body, half) // it comes while the origin waits to go on
			require.NoError(t, err)
			out += string(half)
			next <- struct{}{}
		}
		return out
	})
	both("100 MB", func(t *testing.T, client *http.Client, at string) string {
		answer, err := client.Do(request(t, "GET", at+"/large", nil))
		require.NoError(t, err)
		defer answer.Body.Close() //nolint:errcheck // read to its end
		sum := sha256.New()
		n, err := io.Copy(sum, answer.Body)
		require.NoError(t, err)
		require.Equal(t, int64(large), n)
		return hex.EncodeToString(sum.Sum(nil))
	})
	both("a socket", func(t *testing.T, client *http.Client, at string) string {
		home, err := url.Parse(at)
		require.NoError(t, err)
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", home.Host)
		require.NoError(t, err)
		defer conn.Close() //nolint:errcheck // it ends the echo
		r := request(t, "GET", at+"/socket", nil)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
		for _, c := range client.Jar.Cookies(home) {
			r.AddCookie(c)
		}
		require.NoError(t, r.Write(conn))
		lines := bufio.NewReader(conn)
		answer, err := http.ReadResponse(lines, r)
		require.NoError(t, err)
		defer answer.Body.Close() //nolint:errcheck // it has none
		out := fmt.Sprint(answer.StatusCode, answer.Header.Get("Upgrade"))
		for _, word := range []string{"hello\n", "again\n"} {
			_, err := io.WriteString(conn, word)
			require.NoError(t, err)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			out += line
		}
		return out
	})
	// The visitors of the bare site sent nothing to the gate.
	require.Positive(t, s.gate.Stats().Inside)
}

// Without an origin the visitors get a clear answer, and keep their places.
func TestOriginAway(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) {
		c.Transport = origin(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: io.ErrUnexpectedEOF}
		})
	})
	b := s.browser().enter()
	answer := b.open("/")
	require.Equal(t, 502, answer.StatusCode)
	require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	require.Contains(t, answer.text, "origin-unreachable")
	require.Contains(t, b.poll(), `"status":"active"`)
	require.EqualValues(t, 1, s.gate.Stats().Failed)
}

// While the store is unreachable no visitor enters; visitors inside go on.
func TestStoreAway(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 2}, nil)
	inside, waiting, fresh := s.browser().enter(), s.browser(), s.browser()
	waiting.open("/")
	s.store.away.Store(true)
	require.Equal(t, 200, inside.open("/").StatusCode)
	for _, b := range []*browser{waiting, fresh, fresh} {
		answer := b.open("/")
		require.Equal(t, 503, answer.StatusCode)
		require.NotEmpty(t, answer.Header.Get("Retry-After"))
	}
	poll := waiting.do("POST", "/millrace-gate/check/sale", nil)
	require.Equal(t, 503, poll.StatusCode)
	require.Equal(t, "3", poll.Header.Get("Retry-After"))
}

// headers are read by the origin, and come from the gate alone.
func TestOriginIsTold(t *testing.T) {
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Pass = []string{"/static/**"} })
	verifier, err := gate.NewVerifier(keys(t))
	require.NoError(t, err)
	b := s.browser().enter()
	forged := http.Header{
		"X-Millrace-User": {"admin"}, "X_millrace_user": {"admin"}, "x-millrace_Event": {"other"}, "X-Millrace-Signature": {"1"}, "X-Millrace-Time": {"1"},
		"X-Forwarded-For": {"6.6.6.6"}, "X-Forwarded-Host": {"evil.example"}, "Connection": {"X-Millrace-User"},
	}
	b.do("POST", "/pay?seat=7", forged)
	r := s.last.Load()
	for name := range r.Header {
		require.NotContains(t, name, "_")
	}
	require.Equal(t, "shop.example", r.Host)
	require.Equal(t, "shop.example", r.Header.Get("X-Forwarded-Host"))
	require.Equal(t, "192.0.2.1", r.Header.Get("X-Forwarded-For"))
	visit, err := verifier.Verify(r)
	require.NoError(t, err)
	require.Equal(t, "sale", visit.Event)
	require.Len(t, visit.User, 22)

	for what, change := range map[string]func(*http.Request){
		"another method": func(r *http.Request) { r.Method = "GET" }, "another host": func(r *http.Request) { r.Host = "x" },
		"another query": func(r *http.Request) { r.RequestURI = "/pay?seat=8" }, "another user": func(r *http.Request) { r.Header.Set("X-Millrace-User", "admin") },
		"two users": func(r *http.Request) { r.Header.Add("X-Millrace-User", "admin") }, "no signature": func(r *http.Request) { r.Header.Del("X-Millrace-Signature") },
		"another time": func(r *http.Request) { r.Header.Set("X-Millrace-Time", "1") },
	} {
		other := r.Clone(context.Background())
		change(other)
		_, err := verifier.Verify(other)
		require.Error(t, err, what)
	}
	s.browser().do("GET", "/static/a.js", forged)
	r = s.last.Load()
	require.Empty(t, r.Header.Values("X-Millrace-User"))
	visit, err = verifier.Verify(r)
	require.NoError(t, err)
	require.Equal(t, gate.Visit{Event: "sale"}, visit)

	trusting := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Proxied = true })
	trusting.browser().enter().do("GET", "/", http.Header{"X-Forwarded-For": {"7.7.7.7"}, "X-Forwarded-Host": {"www.example"}, "X-Forwarded-Proto": {"https"}})
	r = trusting.last.Load()
	require.Equal(t, []string{"7.7.7.7, 192.0.2.1", "www.example", "https"}, []string{r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Host"), r.Header.Get("X-Forwarded-Proto")})
}
