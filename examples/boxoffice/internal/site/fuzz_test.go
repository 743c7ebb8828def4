package site

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// Every id has a poster: a picture without any text of the id.
func FuzzPoster(f *testing.F) {
	for _, s := range []string{"show-1", "", "\"><script>alert(1)</script>", "99999999999999999999", "\xff\x00", "ä7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		picture := string(poster(id))
		if again := string(poster(id)); strings.Contains(picture, "script") || again != picture {
			t.Fatalf("the poster of %q is %s", id, picture)
		}
		for d := xml.NewDecoder(strings.NewReader(picture)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("the poster of %q: %v", id, err)
			}
		}
	})
}

// Any browser gets one of the languages; the cookie holds that alone.
func FuzzLanguage(f *testing.F) {
	f.Add("ko-KR,ko;q=0.9,en;q=0.8", "lang=ko", "fr")
	f.Add(strings.Repeat("ko-", 300), "lang=\"; Path=/x", "ko")
	f.Add("*;q=x", "lang=", "\r\nSet-Cookie: a=b")
	f.Fuzz(func(t *testing.T, accept, cookie, asked string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Accept-Language"] = []string{accept}
		r.Header["Cookie"] = []string{cookie}
		q := r.URL.Query()
		q.Set("lang", asked)
		r.URL.RawQuery = q.Encode()
		if lang := locales.Negotiate(r); !locales.Known(lang) || locales.Known(asked) && lang != asked {
			t.Fatalf("%q, %q and %q get %q", accept, cookie, asked, lang)
		}
		w := httptest.NewRecorder()
		remember(w, r)
		if set := w.Header().Get("Set-Cookie"); (set != "") != locales.Known(asked) || strings.ContainsAny(set, "\r\n") {
			t.Fatalf("%q sets the cookie %q", asked, set)
		}
	})
}
