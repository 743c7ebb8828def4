package site

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

func TestCatalogsAgree(t *testing.T) {
	placeholder := regexp.MustCompile(`\{\w+\}`)
	languages := locales.Languages()
	reference := locales.Of(languages[0])
	for _, lang := range languages[1:] {
		texts := locales.Of(lang)
		for key, text := range reference {
			other, ok := texts[key]
			if !ok {
				t.Errorf("%s lacks %s", lang, key)
				continue
			}
			a, b := placeholder.FindAllString(text, -1), placeholder.FindAllString(other, -1)
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				t.Errorf("%s: %s has the placeholders %v, %s has %v", key, languages[0], a, lang, b)
			}
			if strings.TrimSpace(other) == "" {
				t.Errorf("%s is empty in %s", key, lang)
			}
		}
		for key := range texts {
			if _, ok := reference[key]; !ok {
				t.Errorf("%s has %s, which %s lacks", lang, key, languages[0])
			}
		}
	}
}

// TestUsedKeysExist searches the sources for keys: a used text must exist, and an
// unused one must be deleted.
func TestUsedKeysExist(t *testing.T) {
	texts := locales.Of("en")
	used := map[string]bool{}
	var prefixes []string
	look := func(files fs.FS, root, suffix string, plain, plural, prefix *regexp.Regexp) {
		err := fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, suffix) {
				return err
			}
			source, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			for _, m := range plain.FindAllSubmatch(source, -1) {
				used[string(m[1])] = true
			}
			if plural != nil {
				for _, m := range plural.FindAllSubmatch(source, -1) {
					used[string(m[1])+".one"], used[string(m[1])+".other"] = true, true
				}
				for _, m := range prefix.FindAllSubmatch(source, -1) {
					prefixes = append(prefixes, string(m[1]))
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	look(templateFiles, "templates", ".html", regexp.MustCompile(`T "([\w.-]+)"`), nil, nil)
	look(staticFiles, "static/js", ".js", regexp.MustCompile(`\bt\('([\w.-]+)'`), regexp.MustCompile(`\btn\('([\w.-]+)'`), regexp.MustCompile("`((?:theme|artist\\.(?:attribute|value|refresh)|problem|scan|transfer|membership\\.state|notice\\.text)\\.)\\$\\{"))
	// Keys in Go, and behind a condition in a script.
	for _, key := range []string{"nav.shows", "seats.title", "checkout.title", "nav.tickets", "signin.submit", "ops.title", "nav.artists", "offline.page.title", "seats.added", "seats.removed", "site.name", "site.short",
		"date.at", "date.day", "date.time", "date.am", "date.pm", "money.other", "show.class", "show.where.city", "list.and"} {
		used[key] = true
	}
	for i := range 12 {
		used[fmt.Sprint("date.month.", i+1)] = true
		if i < 7 {
			used[fmt.Sprint("date.weekday.", i)] = true
		}
	}
	if len(used) < 150 || len(prefixes) < 2 {
		t.Fatalf("only %d keys and %d prefixes were found: the test no longer reads the sources", len(used), len(prefixes))
	}
	for key := range used {
		if _, ok := texts[key]; !ok {
			t.Errorf("%s is used and does not exist", key)
		}
	}
	for key := range texts {
		if !used[key] && !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			t.Errorf("%s exists and is not used", key)
		}
	}
}

func TestNegotiate(t *testing.T) {
	h := handler(t, tonight())
	for _, c := range []struct{ target, accept, cookie, want string }{
		{"/", "", "", "en"},
		{"/", "ko-KR,ko;q=0.9,en;q=0.8", "", "ko"},
		{"/", "en-GB,ko;q=0.5", "", "en"},
		{"/", "fr, ko;q=0.3", "", "ko"},
		{"/", "fr", "", "en"},
		{"/", "ko", "lang=en", "en"},
		{"/?lang=ko", "en", "lang=en", "ko"},
		{"/?lang=xx", "ko", "", "ko"},
		{"/", "ko", "lang=xx", "ko"},
		{"/", ";;;q=,*", "", "en"},
	} {
		w := get(h, c.target, "Accept-Language", c.accept, "Cookie", c.cookie)
		assert.Equalf(t, c.want, w.Header().Get("Content-Language"), "%s with Accept-Language %q and cookie %q", c.target, c.accept, c.cookie)
		remembered := w.Header().Get("Set-Cookie")
		assert.Equalf(t, c.target == "/?lang=ko", strings.Contains(remembered, "lang=ko"), "%s: Set-Cookie %q", c.target, remembered)
	}
}

func TestLanguageSwitchKeepsThePlace(t *testing.T) {
	h := handler(t, tonight())
	for target, link := range map[string]string{
		"/artists?id=a.b":     "/artists?id=a.b&amp;lang=ko",
		"/checkout/a%2Fb":     "/checkout/a%2Fb?lang=ko",
		"/%2Fevil.example/x/": "/%2Fevil.example/x/?lang=ko", // not another site
	} {
		assert.Containsf(t, get(h, target).Body.String(), `href="`+link+`"`, "switching the language on %s does not lead to %s", target, link)
	}
}
