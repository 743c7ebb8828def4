package site

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

func TestContentSecurityPolicy(t *testing.T) {
	h := handler(t, tonight())
	pages := everyPage()
	pages["/sw.js"], pages["/manifest.webmanifest"], pages["/posters/show-1"], pages["/static/x/js/none.js"] = 200, 200, 200, 404
	for target, status := range pages {
		w := get(h, target)
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", target, w.Code, status)
		}
		policy := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			assert.Containsf(t, policy, want, "%s: the policy lacks %s", target, want)
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is not strict: %s", target, policy)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") == "" {
			t.Errorf("%s lacks a security header", target)
		}
	}
}

var inlineCode = regexp.MustCompile(`(?i)\sstyle\s*=|\son\w+\s*=\s*["']|<style|javascript:|<script(?:>|\s[^>]*>)\s*[^<\s]|https?://[^"]*\.(?:js|css|woff2|png)`)

// TestTemplatesHaveNoInlineCode refuses code that the policy would stop anyway, so
// that it is found here and not as a page that does not work.
func TestTemplatesHaveNoInlineCode(t *testing.T) {
	for _, bad := range []string{`<p style="x">`, `<p onclick="x()">`, `<style>`, `<script>x()</script>`, `<script src="https://cdn.example/x.js">`} {
		assert.Truef(t, inlineCode.MatchString(bad), "%s is not found", bad)
	}
	err := fs.WalkDir(templateFiles, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := fs.ReadFile(templateFiles, name)
		if found := inlineCode.Find(source); found != nil {
			t.Errorf("%s: %s", name, found)
		}
		return err
	})
	require.NoError(t, err)
	err = fs.WalkDir(staticFiles, "static/js", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := fs.ReadFile(staticFiles, name)
		if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`).Find(source); found != nil {
			t.Errorf("%s: %s", name, found)
		}
		return err
	})
	require.NoError(t, err)
}

func TestCacheHeaders(t *testing.T) {
	h := handler(t, tonight())
	for target := range everyPage() {
		header := get(h, target).Header()
		if cache := header.Get("Cache-Control"); cache != "private, no-cache" {
			t.Errorf("%s: Cache-Control %q", target, cache)
		}
		if vary := header.Get("Vary"); !strings.Contains(vary, "Accept-Language") || !strings.Contains(vary, "Cookie") {
			t.Errorf("%s: Vary %q", target, vary)
		}
	}
}

// TestStaticFiles loads everything that pages, style sheets and modules name.
func TestStaticFiles(t *testing.T) {
	h := handler(t, tonight())
	seen := map[string]bool{}
	var load func(address, from string)
	load = func(address, from string) {
		if seen[address] {
			return
		}
		seen[address] = true
		w := get(h, address)
		if w.Code != http.StatusOK {
			t.Errorf("%s, which %s names: status %d", address, from, w.Code)
			return
		}
		if cache := w.Header().Get("Cache-Control"); cache != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", address, cache)
		}
		folder := address[:strings.LastIndex(address, "/")+1]
		for _, m := range regexp.MustCompile(`(?:from|import) '\./([\w.]+)'|url\("\.\./([\w./]+)"\)`).FindAllStringSubmatch(w.Body.String(), -1) {
			if m[1] != "" {
				load(folder+m[1], address)
			} else {
				load(folder[:strings.LastIndex(strings.TrimSuffix(folder, "/"), "/")+1]+m[2], address)
			}
		}
	}
	for target := range everyPage() {
		for _, m := range regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(get(h, target).Body.String(), -1) {
			load(m[1], target)
		}
	}
	files := 0
	err := fs.WalkDir(staticFiles, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, "worker.js") {
			return err
		}
		files++
		found := false
		for address := range seen {
			found = found || strings.HasSuffix(address, strings.TrimPrefix(name, "static"))
		}
		assert.Truef(t, found, "no page needs %s", name)
		return nil
	})
	if err != nil || files < 20 {
		t.Fatalf("%d files were looked at: %v", files, err)
	}
}

func TestStaticVersions(t *testing.T) {
	h := handler(t, tonight())
	current := regexp.MustCompile(`/static/([0-9a-f]{12})/css/base\.css`).FindStringSubmatch(get(h, "/").Body.String())
	if current == nil {
		t.Fatal("no page names a static file by its hash")
	}
	w := get(h, "/static/0123456789ab/js/site.js")
	if w.Code != http.StatusTemporaryRedirect || w.Header().Get("Location") != "/static/"+current[1]+"/js/site.js" {
		t.Errorf("a file of another version: status %d to %q", w.Code, w.Header().Get("Location"))
	}
	for _, missing := range []string{"/js/none.js", "/../site.go", "/", "/css"} {
		if w := get(h, "/static/"+current[1]+missing); w.Code == http.StatusOK {
			t.Errorf("%s is served", missing)
		}
	}
	texts := locales.All()
	a, err := loadAssets(texts)
	require.NoError(t, err)
	assert.Equal(t, current[1], a.hash, "the same files have another hash the second time")
	texts["en"] = maps.Clone(texts["en"])
	texts["en"]["site.name"] += "!"
	if b, err := loadAssets(texts); err != nil || b.hash == a.hash {
		t.Errorf("a changed text keeps the hash %s (%v)", a.hash, err)
	}
}

func TestCompression(t *testing.T) {
	h := handler(t, tonight())
	address := regexp.MustCompile(`/static/[0-9a-f]{12}/css/base\.css`).FindString(get(h, "/").Body.String())
	plain := get(h, address)
	packed := get(h, address, "Accept-Encoding", "gzip, br")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers %v", packed.Header())
	}
	r, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
		t.Errorf("unpacked it is another file (%v)", err)
	}
	for accepted, want := range map[string]string{"br, gzip;q=0": "", "gzip; q=0.0": "", "deflate;q=0, GZIP;q=0.5": "gzip", "xgzip": ""} {
		assert.Equal(t, want, get(h, address, "Accept-Encoding", accepted).Header().Get("Content-Encoding"), accepted)
	}
}

func TestWorker(t *testing.T) {
	w := get(handler(t, tonight()), "/sw.js")
	body := w.Body.String()
	if w.Header().Get("Cache-Control") != "no-cache" || strings.Contains(body, "__HASH__") {
		t.Errorf("Cache-Control %q", w.Header().Get("Cache-Control"))
	}
	h := handler(t, tonight())
	hash := regexp.MustCompile(`HASH = '([0-9a-f]{12})'`).FindStringSubmatch(body)
	if hash == nil {
		t.Fatal("the worker does not know its version")
	}
	files := regexp.MustCompile(`'((?:css|js|font|img)/[\w.]+)'`).FindAllStringSubmatch(body, -1)
	if len(files) < 8 {
		t.Fatalf("the worker keeps %d files", len(files))
	}
	kept := map[string]bool{}
	for _, file := range files {
		kept["/static/"+hash[1]+"/"+file[1]] = true
		if w := get(h, "/static/"+hash[1]+"/"+file[1]); w.Code != http.StatusOK {
			t.Errorf("the worker wants %s, which does not exist", file[1])
		}
	}
	for _, lang := range locales.Languages() {
		kept["/static/"+hash[1]+"/i18n/"+lang+".js"] = true
	}
	// The files that the waiting page loads must be in the worker's cache.
	for _, m := range regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(get(h, "/offline").Body.String(), -1) {
		if !kept[m[1]] {
			t.Errorf("the waiting page needs %s, which the worker does not keep", m[1])
		}
	}
	for address := range kept {
		for _, m := range regexp.MustCompile(`(?:from|import) '\./([\w.]+)'`).FindAllStringSubmatch(get(h, address).Body.String(), -1) {
			if !kept["/static/"+hash[1]+"/js/"+m[1]] && m[1] != "api.js" {
				t.Errorf("%s imports %s, which the worker does not keep", address, m[1])
			}
		}
	}
}
