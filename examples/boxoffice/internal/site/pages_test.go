package site

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

func TestPagesRender(t *testing.T) {
	h := handler(t, tonight())
	for target, status := range everyPage() {
		for _, lang := range locales.Languages() {
			w := get(h, target, "Accept-Language", lang)
			body := w.Body.String()
			if w.Code != status {
				t.Errorf("%s in %s: status %d, want %d", target, lang, w.Code, status)
			}
			if !strings.Contains(body, `<html lang="`+lang+`"`) || w.Header().Get("Content-Language") != lang {
				t.Errorf("%s is not in %s", target, lang)
			}
			if raw := regexp.MustCompile(`\{\w+\}|>[a-z]+\.[a-z0-9.]+<|%!|ZgotmplZ`).FindString(body); raw != "" {
				t.Errorf("%s in %s shows %q instead of a text", target, lang, raw)
			}
			if n := strings.Count(body, "<h1"); n != 1 && !strings.HasPrefix(target, "/checkout/") {
				t.Errorf("%s has %d main headings, want 1", target, n)
			}
			assert.NoErrorf(t, wellFormed(body), "%s in %s", target, lang)
		}
	}
}

// wellFormed checks nesting, that ids are unique, and that references to an id have a
// target.
func wellFormed(page string) error {
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict = false
	decoder.Entity = xml.HTMLEntity
	ids := map[string]bool{}
	var wanted, open []string
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if end, ok := token.(xml.EndElement); ok && len(open) > 0 {
			if last := open[len(open)-1]; last != end.Name.Local {
				return errors.New("</" + end.Name.Local + "> closes <" + last + ">")
			}
			open = open[:len(open)-1]
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(xml.HTMLAutoClose, element.Name.Local) {
			open = append(open, element.Name.Local)
		}
		for _, a := range element.Attr {
			switch a.Name.Local {
			case "id":
				if ids[a.Value] {
					return errors.New("the id " + a.Value + " is there twice")
				}
				ids[a.Value] = true
			case "for", "aria-labelledby", "aria-describedby":
				wanted = append(wanted, strings.Fields(a.Value)...)
			}
		}
		if element.Name.Local == "img" && !slices.ContainsFunc(element.Attr, func(a xml.Attr) bool { return a.Name.Local == "alt" }) {
			return errors.New("an image without a text for those who can't see it")
		}
	}
	if len(open) > 0 {
		return errors.New("never closed: <" + strings.Join(open, "> <") + ">")
	}
	for _, id := range wanted {
		if !ids[id] {
			return errors.New("something refers to the id " + id + ", which is not there")
		}
	}
	return nil
}

func TestWellFormedFindsFaults(t *testing.T) {
	for _, page := range []string{`<p><b></p>`, `<p id="a"></p><p id="a"></p>`, `<label for="b"></label>`, `<img src="x">`} {
		assert.Errorf(t, wellFormed(page), "%s passes", page)
	}
}

func TestHostileTitle(t *testing.T) {
	const hostile = `</title><script>alert(1)</script><img src=x onerror=alert(2)>"'{{.Static}}`
	backend := &programme{shows: []catalog.Show{{ID: `x"><svg onload=alert(3)>`, Title: hostile, Seats: catalog.Counts{Total: 1, Available: 1}}}}
	h := handler(t, backend)
	for _, target := range []string{"/", `/shows/x%22%3E%3Csvg%20onload=alert(3)%3E`, `/events/x%22%3E%3Csvg%20onload=alert(3)%3E`} {
		w := get(h, target)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d", target, w.Code)
		}
		body := w.Body.String()
		for _, bad := range []string{"<script>alert", "<img src=x", "<svg onload", `x"><`} {
			assert.NotContainsf(t, body, bad, "%s lets %s through", target, bad)
		}
		assert.NoErrorf(t, wellFormed(body), "%s", target)
		assert.Containsf(t, body, "&lt;script&gt;alert(1)", "%s does not show the title as text", target)
	}
	for _, target := range []string{`/checkout/%22%3E%3Cscript%3Ealert(4)%3C%2Fscript%3E`, `/?lang=%22%3E%3Cscript%3E`, `/tickets?x=%22%3E%3Cscript%3E`, `/nowhere/%3Cscript%3E`} {
		assert.NotContainsf(t, get(h, target).Body.String(), "<script>", "%s puts an address into the page as markup", target)
	}
	assert.NotContains(t, get(h, `/posters/%3Cscript%3E`).Body.String(), "script", "a poster shows the id that it is drawn from")
}

func TestSoldOutAndFew(t *testing.T) {
	h := handler(t, tonight())
	home := get(h, "/").Body.String()
	for _, want := range []string{"329 of 500 seats left", "Only 6 seats left", "Sold out"} {
		assert.Contains(t, home, want, "the list lacks")
	}
	assert.NotContains(t, get(h, "/shows/show-3").Body.String(), "get-seats", "a sold out show still offers its seats")
	if show := get(h, "/shows/show-2", "Accept-Language", "ko").Body.String(); !strings.Contains(show, `href="/queue/show-2?lang=ko"`) {
		t.Error("the way to the seats does not lead through the waiting room")
	}
}

func TestSeatPlan(t *testing.T) {
	body := get(handler(t, tonight()), "/events/show-1").Body.String()
	if rows, seats := strings.Count(body, `role="row"`), strings.Count(body, `<button type="button" class="seat"`); rows != 20 || seats != 500 {
		t.Errorf("the plan has %d rows and %d seats, want 20 and 500", rows, seats)
	}
	for _, row := range []string{"Row A", "Row T"} {
		assert.Contains(t, body, row, "the plan lacks")
	}
}

func TestNoShows(t *testing.T) {
	assert.Contains(t, get(handler(t, &programme{}), "/").Body.String(), "The stage is dark", "an empty programme is not said to be empty")
}

func TestBackendFails(t *testing.T) {
	h := handler(t, &programme{err: errors.New("disk is full of secrets")})
	for _, target := range []string{"/", "/shows/show-1", "/events/show-1", "/scan"} {
		w := get(h, target)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: status %d, Retry-After %q", target, w.Code, w.Header().Get("Retry-After"))
		}
		assert.NotContainsf(t, w.Body.String(), "secrets", "%s tells visitors what is inside an error", target)
	}
	assert.Equal(t, http.StatusOK, get(h, "/tickets").Code, "a page that needs no backend has status")
}

func TestMethods(t *testing.T) {
	h := handler(t, tonight())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", nil))
	if w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD /: status %d, %d bytes", w.Code, w.Body.Len())
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/tickets", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code, "POST /tickets: status")
}

func TestTheme(t *testing.T) {
	h := handler(t, tonight())
	for cookie, want := range map[string]string{"theme=dark": `<html lang="en" data-theme="dark">`, "theme=light": `<html lang="en" data-theme="light">`, "theme=%22onload": `<html lang="en">`} {
		assert.Containsf(t, get(h, "/", "Cookie", cookie).Body.String(), want, "with %s the page does not begin with %s", cookie, want)
	}
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Config.Backend") {
		t.Errorf("New without a backend: %v", err)
	}
}
