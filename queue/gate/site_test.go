package gate_test

import (
	"bufio"
	"bytes"
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
	return visitorBy(t, at, http.DefaultTransport.(*http.Transport))
}

func visitorBy(t *testing.T, at string, transport *http.Transport) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport = transport.Clone()
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

// beside plays with a site, and with the same site behind a gate: what a visitor sees
// has to be the same.
type beside struct {
	bare, gated *httptest.Server
	gate        *gate.Gate
}

func newBeside(t *testing.T, handler http.Handler) beside {
	t.Helper()
	bare := httptest.NewServer(handler)
	t.Cleanup(bare.Close)
	at, err := url.Parse(bare.URL)
	require.NoError(t, err)
	s := newSite(t, queue.Config{Threshold: 100}, func(c *gate.Config) { c.Origin, c.Transport = at, nil })
	gated := httptest.NewServer(s.handler)
	t.Cleanup(gated.Close)
	return beside{bare, gated, s.gate}
}

func (b beside) both(t *testing.T, name string, play func(t *testing.T, client *http.Client, at string) string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		without := play(t, visitor(t, b.bare.URL), b.bare.URL)
		require.NotEmpty(t, without)
		require.Equal(t, without, play(t, visitor(t, b.gated.URL), b.gated.URL))
	})
}

func request(t *testing.T, method, target string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, body)
	require.NoError(t, err)
	return r
}

// get makes a request, and returns all of the answer.
func get(t *testing.T, client *http.Client, r *http.Request) string {
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
	return fmt.Sprintf("%d %d %v %v %v %s", answer.StatusCode, answer.ContentLength, kept, answer.TransferEncoding, answer.Trailer, strings.ReplaceAll(string(text), r.Host, "HOST"))
}

// An untouched site behind a gate answers its visitors as it does without one.
func TestSiteAsWithout(t *testing.T) {
	next := make(chan struct{})
	site := newBeside(t, untouched(t, next))
	both := func(name string, play func(t *testing.T, client *http.Client, at string) string) {
		t.Helper()
		site.both(t, name, play)
	}
	both("a folder", func(t *testing.T, client *http.Client, at string) string {
		out := ""
		for _, path := range []string{"/style.css", "/%C3%BCnder/a%20b.txt", "/%C3%BCnder/", "/none", "/echo?x=%zz&;=%2F"} {
			out += get(t, client, request(t, "GET", at+path, nil))
		}
		for _, h := range []map[string]string{
			{"Range": "bytes=2-5"}, {"Range": "bytes=-4"}, {"Range": "bytes=99-"}, {"If-Modified-Since": "Fri, 31 Dec 2100 00:00:00 GMT"},
			{"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:01 GMT"}, {"If-None-Match": "*"}, {"Range": "bytes=2-5", "If-Range": "Thu, 01 Jan 1970 00:00:01 GMT"},
		} {
			r := request(t, "GET", at+"/style.css", nil)
			for name, value := range h {
				r.Header.Set(name, value)
			}
			out += get(t, client, r)
		}
		return out + get(t, client, request(t, "HEAD", at+"/style.css", nil))
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
	require.Positive(t, site.gate.Stats().Inside)
}
